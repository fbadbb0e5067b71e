"""The records of a Codex thread. After a rewind or a fork its file has only what is new, and names its base."""

import re
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from handoff_cli.readers.json_lines import parse_lines, read_bytes

Record = dict[str, Any]

_DEEPEST = 100
_ID = re.compile(r"[0-9A-Za-z-]+")


@dataclass(frozen=True)
class Thread:
    """The records from the first base on, and whether one of the bases is missing."""

    records: list[Record]
    complete: bool = True


def read_thread(path: Path, folders: list[Path], end: int | None = None, depth: int = 0) -> Thread:
    """The whole conversation: as much of the base as counts, then this file. Raises UsageProblem."""
    own = list(parse_lines(read_bytes(path)[:end]))
    base = meta_of(own).get("history_base")
    if not isinstance(base, dict):
        return Thread(own)
    found = _file_of(str(base.get("thread_id") or ""), path.parent, folders)
    size = base.get("end_byte_offset")
    if found is None or not isinstance(size, int) or depth == _DEEPEST:
        return Thread(own, complete=False)
    before = read_thread(found, folders, size, depth + 1)
    return Thread(before.records + own, before.complete)


def unwrapped(line: Record) -> tuple[str, Record]:
    """(kind, payload); the oldest files have no envelope."""
    payload = line.get("payload")
    if isinstance(payload, dict):
        return str(line.get("type")), payload
    return ("response_item" if line.get("type") else "session_meta"), line


def meta_of(lines: list[Record]) -> Record:
    """The description of the thread in the first record; empty if there is none."""
    kind, payload = unwrapped(lines[0]) if lines else ("", {})
    return payload if kind == "session_meta" else {}


def _file_of(thread_id: str, beside: Path, folders: list[Path]) -> Path | None:
    """The id is the last one in the name: `rollout-<time>-<thread>.jsonl`, `rollout-<time>-<thread>_<part>.jsonl`."""
    if not _ID.fullmatch(thread_id):
        return None
    name = f"rollout-*[-_]{thread_id}.jsonl"
    return next(chain(beside.glob(name), *(folder.rglob(name) for folder in folders)), None)
