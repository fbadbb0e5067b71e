"""Sessions of Claude Code and Codex on the disk of a test, as the programs write them."""

import fcntl
import json
import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from handoff_cli.readers.claude_code.find import folder_name


def claude_session(
    home: Path,
    directory: Path,
    words: str,
    *,
    native_id: str = "",
    written: float = 1_000_000_000,
    answer: str | None = "Yes.",
) -> Path:
    """A session in which the user said this; without an answer the agent is still at work."""
    path = home / ".claude" / "projects" / folder_name(directory) / f"{native_id or uuid.uuid4()}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [_claude("user", "u1", "", words, directory)]
    if answer is not None:
        content = [{"type": "text", "text": answer}]
        lines.append(_claude("assistant", "a1", "u1", content, directory, stop_reason="end_turn"))
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    os.utime(path, (written, written))
    return path


def claude_turn(path: Path, directory: Path, words: str, answer: str = "Noted.") -> None:
    """Something more was said at the end of a session, and answered."""
    last = [line["uuid"] for line in map(json.loads, path.read_text().splitlines()) if line.get("uuid")][-1]
    content = [{"type": "text", "text": answer}]
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    lines = [
        _claude("user", first, last, words, directory),
        _claude("assistant", second, first, content, directory, stop_reason="end_turn"),
    ]
    with path.open("a") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in lines)


def codex_session(
    home: Path,
    directory: Path,
    words: str,
    *,
    native_id: str = "",
    written: float = 1_000_000_000,
    helper: bool = False,
) -> Path:
    """A thread of Codex; a `helper` is that of a sub-agent."""
    native_id = native_id or str(uuid.uuid4())
    path = home / ".codex" / "sessions" / "2026" / "11" / "18" / f"rollout-2026-11-18T10-00-00-{native_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    source = {"subagent": "review"} if helper else "cli"
    lines = [
        ("session_meta", {"id": native_id, "cwd": str(directory), "source": source}),
        ("response_item", _said("user", "input_text", words)),
        ("response_item", _said("assistant", "output_text", "Yes.")),
    ]
    path.write_text("".join(json.dumps({"type": kind, "payload": payload}) + "\n" for kind, payload in lines))
    os.utime(path, (written, written))
    return path


def codex_database(home: Path, directories: dict[str, Path]) -> None:
    """The database in which Codex keeps what it knows of its threads."""
    with closing(sqlite3.connect(home / ".codex" / "state_5.sqlite")) as made, made:
        made.execute("CREATE TABLE threads (id TEXT PRIMARY KEY, cwd TEXT NOT NULL)")
        made.executemany("INSERT INTO threads VALUES (?, ?)", [(one, str(at)) for one, at in directories.items()])


@contextmanager
def held_by_codex(home: Path, native_id: str) -> Iterator[None]:
    """As while Codex has the thread open."""
    path = home / ".codex" / "thread-writer-locks" / f"{native_id}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _claude(kind: str, uuid_: str, parent: str, content: Any, directory: Path, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more}
    return {"type": kind, "uuid": uuid_, "parentUuid": parent or None, "cwd": str(directory), "message": message}


def _said(role: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
