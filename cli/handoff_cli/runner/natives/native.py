"""One session of an agent as its files show it, and how the beginning and the end of a file are read."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Record = dict[str, Any]
_HEAD, _TAIL = 256 * 1024, 64 * 1024


@dataclass(frozen=True)
class Candidate:
    """The file of a session, not opened yet."""

    agent: str
    path: Path
    written: float


@dataclass(frozen=True)
class Native:
    """A session: its id at the agent, the directory where it works, its title or first words."""

    agent: str
    native_id: str
    directory: str
    title: str
    written: float
    path: Path
    is_open: bool | None = None


def head(path: Path) -> Iterator[Record]:
    """The records at the beginning of a file, as far as a few hundred KB go; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            read = 0
            while read < _HEAD and (line := file.readline(_HEAD)):
                read += len(line)
                yield from _records([line])
    except OSError:
        return


def tail(path: Path) -> list[Record]:
    """The records at the end of a file, the newest first; nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL))
            lines = file.read(_TAIL).splitlines()
    except OSError:
        return []
    return list(_records(reversed(lines)))


def _records(lines: Any) -> Iterator[Record]:
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
