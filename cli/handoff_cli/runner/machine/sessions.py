"""The sessions that this machine handed over: the runner refuses all others."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from handoff_cli.runner.machine.files import private_directory, read_json, remove, write_json
from handoff_cli.runner.machine.identity import SAFE_ID


@dataclass(frozen=True)
class HandedOver:
    """One session: its ids here and there, its agent and directory, and the service that has it.

    `native_id` is empty until the agent has answered the first turn of a session that began in a chat.
    """

    session_id: str
    agent: str
    native_id: str
    directory: str
    url: str

    @property
    def key(self) -> tuple[str, str]:
        """What its lock and its place in a runner are named by."""
        return self.agent, self.native_id or self.session_id

    def is_named(self, agent: str | None, native_id: str | None, url: str) -> bool:
        """Whether a service means this session; it learns the agent's id of a new one with the first result."""
        return (self.agent, self.url) == (agent, url) and native_id in ("", None, self.native_id)


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
        if not all(isinstance(value, str) and (value or name == "native_id") for name, value in values.items()):
            return None
        return HandedOver(**{name: str(value) for name, value in values.items()})

    def all(self) -> Iterator[HandedOver]:
        """Every session."""
        found = (self.find(path.stem) for path in sorted(self._folder.glob("*.json")))
        return (session for session in found if session)

    def named(self, agent: str, native_id: str, url: str) -> list[HandedOver]:
        """A session of an agent: one that was handed over before may have several entries, the last one at the end."""
        found = [session for session in self.all() if session.is_named(agent, native_id, url)]
        return sorted(found, key=lambda session: self.added_at(session.session_id))

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


def first_id(runner_id: str, agent: str, native_id: str) -> str:
    """The service's id for a session without an entry: programs that hand it over at the same time store one session."""
    seed = f"{runner_id}\n{agent}\n{native_id}"
    return hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:32]
