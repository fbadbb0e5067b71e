"""Sessions of Codex: files by day, each with the directory in its first record."""

import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path

from handoff_cli.readers.codex.messages import messages_of
from handoff_cli.readers.codex.records import meta_of, unwrapped
from handoff_cli.readers.json_lines import records, text_of
from handoff_cli.readers.source import Source, named_session
from handoff_cli.runner.natives.native import Candidate, Native, head, tail

NAME = "codex"
IS_HELD_WHILE_OPEN = True
_NAME = re.compile(r"rollout-[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}-[0-9]{2}-[0-9]{2}-(.+?)(_.*)?\.jsonl")
_LOOK_SECONDS = 0.2
_LOCKS = Path("/proc/locks")
_OVER = {"task_complete", "turn_complete", "turn_aborted"}
_BEGUN = {"task_started", "turn_started"}


def candidates(projects: Sequence[Path], environ: Mapping[str, str]) -> Iterator[Candidate]:
    """Every file but those that lie elsewhere by Codex's own index: names do not tell the directory, the first record does."""
    listed = [path.resolve() for path in projects]
    known = directories(environ)
    elsewhere = {cwd for cwd in set(known.values()) if not any(map(Path(cwd).resolve().is_relative_to, listed))}
    for path in (_home(environ) / "sessions").rglob("rollout-*.jsonl"):
        named = _NAME.fullmatch(path.name)
        if named and known.get(named[1]) in elsewhere:
            continue
        try:
            yield Candidate(NAME, path, path.stat().st_mtime)
        except OSError:
            continue


def directories(environ: Mapping[str, str]) -> Mapping[str, str]:
    """The directories of threads as Codex keeps them in its database; empty if that cannot be read."""
    try:
        newest = max(_home(environ).glob("state_*.sqlite"), key=lambda path: int(path.stem.rpartition("_")[2]))
        with closing(sqlite3.connect(f"{newest.as_uri()}?mode=ro", uri=True, timeout=_LOOK_SECONDS)) as index:
            return {str(native_id): str(cwd) for native_id, cwd in index.execute("SELECT id, cwd FROM threads")}
    except (OSError, ValueError, sqlite3.Error):
        return {}


def look(found: Candidate, environ: Mapping[str, str]) -> Native | None:
    """Open the file; None for a sub-agent's, and if nothing was said in it."""
    beginning = list(head(found.path))
    meta = meta_of(beginning[:1])
    is_helper = meta.get("thread_source") == "subagent" or isinstance(meta.get("source"), dict)
    if is_helper or not meta.get("id") or not meta.get("cwd"):
        return None
    native_id = str(meta["id"])
    said = next((message for message in messages_of(beginning) if message["role"] == "user"), None)
    title = _titles(environ).get(native_id) or (text_of(said.get("content")) if said else "")
    if not title and not meta.get("history_base"):
        return None
    return Native(NAME, native_id, str(meta["cwd"]), title, found.written, found.path)


def open_now(environ: Mapping[str, str]) -> Collection[str] | None:
    """The ids of the threads that a Codex process holds, until a minute after its terminal is closed; None if unknown.

    Codex locks a file for each. The system lists the locks: taking one to see whether that works would disturb Codex.
    """
    folder = _home(environ) / "thread-writer-locks"
    try:
        listed = [line.split() for line in _LOCKS.read_text().splitlines()]
        held = {int(line[5].rpartition(":")[2]) for line in listed if line[1] == "FLOCK"}
        return {path.stem for path in folder.iterdir() if path.stat().st_ino in held}
    except (OSError, ValueError, IndexError):
        return None


def file_of(native_id: str, environ: Mapping[str, str]) -> Path:
    """The file with the end of a session: of a rewound one there are several. Raises UsageProblem."""
    files = [path for path in (_home(environ) / "sessions").rglob("rollout-*.jsonl") if native_id in path.name]
    return named_session(((native_id, path) for path in sorted(files, key=lambda path: path.name)), native_id, NAME)


def is_amid_turn(path: Path) -> bool:
    """Whether its last records are of a turn that has not ended."""
    for kind, payload in map(unwrapped, tail(path)):
        event = payload.get("type")
        if kind == "event_msg" and event in _OVER | _BEGUN:
            return event in _BEGUN
        if kind == "response_item" and event != "reasoning":
            return payload.get("role") != "assistant"
    return False


def _titles(environ: Mapping[str, str]) -> dict[str, str]:
    index = _home(environ) / "session_index.jsonl"
    if not index.is_file():
        return {}
    about = index.stat()
    return _titles_in(index, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=1)
def _titles_in(index: Path, _written: int, _size: int) -> dict[str, str]:
    """Read once for all sessions of a list: it has a line for each session there ever was."""
    return {str(line.get("id")): str(line["thread_name"]) for line in records(index) if line.get("thread_name")}


def _home(environ: Mapping[str, str]) -> Path:
    return Source(Path("/"), environ).home("CODEX_HOME", ".codex")
