"""The sessions that this machine handed over: the runner refuses all others."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from handoff_cli.runner.machine.files import private_directory, read_json, remove, write_json
from handoff_cli.runner.machine.identity import SAFE_ID


@dataclass(frozen=True)
class HandedOver:
    """One session: its ids here and there, its agent and directory, and the service that has it."""

    session_id: str
    agent: str
    native_id: str
    directory: str
    url: str


class Sessions:
    """One file per session, so that commands that run at the same time never lose an entry of each other."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "sessions"

    def add(self, session: HandedOver) -> None:
        """Note the session. Idempotent; raises UsageProblem or OSError."""
        private_directory(self._folder.parent)
        private_directory(self._folder)
        write_json(self._path(session.session_id), asdict(session))

    def find(self, session_id: str) -> HandedOver | None:
        """The session with the service's id, if this machine handed it over."""
        if not SAFE_ID.fullmatch(session_id):
            return None
        found = read_json(self._path(session_id)) or {}
        values = {name: found.get(name) for name in HandedOver.__dataclass_fields__}
        if not all(isinstance(value, str) and value for value in values.values()):
            return None
        return HandedOver(**{name: str(value) for name, value in values.items()})

    def all(self) -> Iterator[HandedOver]:
        """Every session."""
        found = (self.find(path.stem) for path in sorted(self._folder.glob("*.json")))
        return (session for session in found if session)

    def added_at(self, session_id: str) -> float:
        """When it was handed over last; 0 if it is not known."""
        try:
            return self._path(session_id).stat().st_mtime
        except OSError:
            return 0.0

    def remove(self, session_id: str) -> None:
        """Forget a session that the service does not have any more. Idempotent."""
        if SAFE_ID.fullmatch(session_id) and self._folder.is_dir():
            remove(self._path(session_id))

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{session_id}.json"
