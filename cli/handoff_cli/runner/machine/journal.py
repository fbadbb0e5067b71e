"""Turns at work, and results that the service has not accepted yet; both survive a killed runner."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from handoff_cli.runner.machine.files import private_directory, read_json, remove, write_json
from handoff_cli.runner.machine.identity import SAFE_ID

KEPT_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class Entry:
    """One turn. With a fence its claim was answered, with a result it is over and must be told.

    It belongs to the `user` of the service at `url`; a service that does not tell its users' names leaves that empty.
    """

    turn_id: str
    session_id: str
    claim_id: str
    previous_fence: int | None = None
    fence: int | None = None
    result: dict[str, Any] | None = None
    spooled_at: float = 0.0
    url: str = ""
    user: str = ""

    def is_for(self, url: str, user: str) -> bool:
        """Whether it may be told to this service, in the name of this user."""
        return self.url == url and (self.user == user or not (self.user and user))


class Journal:
    """One file per turn."""

    def __init__(self, state: Path, wall_clock: Callable[[], float] = time.time) -> None:
        self._folder = private_directory(state) / "turns"
        self._now = wall_clock
        private_directory(self._folder)

    def save(self, entry: Entry) -> Entry:
        """When this returns, the disk has it."""
        write_json(self._path(entry.turn_id), asdict(entry))
        return entry

    def spool(self, entry: Entry, result: dict[str, Any]) -> Entry:
        """Keep a result until it is accepted."""
        since = entry.spooled_at or self._now()
        return self.save(replace(entry, result=result, spooled_at=since))

    def is_too_old(self, entry: Entry) -> bool:
        """Was a result repeated for a day, without success?"""
        return entry.result is not None and self._now() - entry.spooled_at > KEPT_SECONDS

    def find(self, turn_id: str) -> Entry | None:
        """The turn, if it is known and its file is whole."""
        found = read_json(self._path(turn_id)) if SAFE_ID.fullmatch(turn_id) else None
        try:
            return Entry(**found) if found else None
        except TypeError:
            return None

    def all(self) -> Iterator[Entry]:
        """Every turn that a runner left; damaged files are removed."""
        for path in sorted(self._folder.glob("*.json")):
            entry = self.find(path.stem)
            if entry is None:
                remove(path)
            else:
                yield entry

    def drop(self, turn_id: str) -> None:
        """The turn is over. Idempotent."""
        remove(self._path(turn_id))

    def _path(self, turn_id: str) -> Path:
        return self._folder / f"{turn_id}.json"
