"""opencode: the tables of `~/.local/share/opencode/opencode.db`, opened read-only, or a file of `opencode export`.

The database is read and the program not started: starting it takes seconds and some 600 MB.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from handoff_cli.errors import UsageProblem
from handoff_cli.readers.json_lines import read_bytes, text_of, tool_call
from handoff_cli.readers.source import Source, named_session
from handoff_cli.transcripts.messages import Message, Transcript

_TOOL = "opencode"
_EXPORT = "`opencode export ID > session.json`, then --from opencode --transcript session.json"

Record = dict[str, Any]


def read(source: Source) -> Transcript:
    """The named session, or the newest one in the directory that is not a sub-agent's."""
    path = source.path or source.home("XDG_DATA_HOME", ".local/share") / "opencode" / "opencode.db"
    if source.path and not read_bytes(path).startswith(b"SQLite format 3"):
        return replace(_transcript(_exported(path), str(path)), native_id=None)
    if not path.is_file():
        raise UsageProblem(f"No opencode database at {path}. Export the session: {_EXPORT}.")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            database.row_factory = sqlite3.Row
            return _transcript(_stored(database, source, path), str(path))
    except sqlite3.Error as error:
        raise UsageProblem(f"{path} cannot be read ({error}). Export the session: {_EXPORT}.") from error


def _exported(path: Path) -> Record:
    document = _json(read_bytes(path).decode("utf-8", "replace"))
    if not isinstance(document.get("messages"), list):
        raise UsageProblem(f"{path} is not a session of opencode. Export it with {_EXPORT}.")
    return document


def _stored(database: sqlite3.Connection, source: Source, path: Path) -> Record:
    """The session in the form of `opencode export`."""
    sessions = {str(row["id"]): dict(row) for row in database.execute("SELECT * FROM session ORDER BY time_updated")}
    session: Record = (
        named_session(sessions.items(), source.session, _TOOL)
        if source.session
        else _newest(database, list(sessions.values()), source, path)
    )
    parts: dict[str, list[Record]] = {}
    for row in database.execute("SELECT * FROM part WHERE session_id = ? ORDER BY id", [session["id"]]):
        parts.setdefault(row["message_id"], []).append(_with_id(row))
    rows = database.execute("SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id", [session["id"]])
    messages: list[Record] = [{"info": _with_id(row), "parts": parts.get(row["id"], [])} for row in rows]
    return {"info": session | {"revert": _json(session.get("revert"))}, "messages": messages}


def _with_id(row: sqlite3.Row) -> Record:
    return {"id": row["id"], **_json(row["data"])}


def _newest(database: sqlite3.Connection, sessions: list[Record], source: Source, path: Path) -> Record:
    written = {row[0] for row in database.execute("SELECT DISTINCT session_id FROM message")}
    for session in reversed(sessions):
        mine = session.get("directory") == str(source.directory) and not session.get("parent_id")
        if mine and session["id"] in written and not session.get("time_archived"):
            return session
    raise UsageProblem(
        f"{path} has no opencode session of {source.directory}. Change to the directory where you worked, name one "
        f"with --from {_TOOL}:ID, or name an exported file with --transcript."
    )


def _transcript(session: Record, shown: str) -> Transcript:
    found = session.get("info")
    info = found if isinstance(found, dict) else {}
    stored = list(_until_revert(session["messages"], info.get("revert")))
    messages = [message for record in stored for message in _messages(record)]
    if not messages:
        raise UsageProblem(f"{shown} has no conversation of opencode. Export it with {_EXPORT}.")
    title = info.get("title")
    models = (record["info"].get("modelID") for record in reversed(stored))
    return Transcript(
        messages,
        # opencode names a session after its time until the model has found a title.
        title=title if isinstance(title, str) and not title.startswith("New session - ") else None,
        model=next((model for model in models if isinstance(model, str)), None),
        cwd=str(info["directory"]) if info.get("directory") else None,
        native_id=str(info["id"]) if info.get("id") else None,
    )


def _until_revert(messages: list[Any], revert: Any) -> Iterator[Record]:
    """Undone messages stay stored until the next prompt; `revert` names the first of them, or its first undone part."""
    undone = revert if isinstance(revert, dict) else {}
    for record in messages:
        if not isinstance(record, dict) or not isinstance(record.get("info"), dict):
            continue
        found = record.get("parts")
        parts = [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []
        if undone and record["info"].get("id") == undone.get("messageID"):
            ids = [part.get("id") for part in parts]
            if undone.get("partID") in ids:
                yield {**record, "parts": parts[: ids.index(undone["partID"])]}
            return
        yield {**record, "parts": parts}


def _messages(record: Record) -> Iterator[Message]:
    info, parts = record["info"], record["parts"]
    # Synthetic parts are the program's words; a compaction's summary repeats what is still there.
    text = "\n\n".join(filter(None, (_text(part) for part in parts if not part.get("synthetic"))))
    if info.get("role") == "user":
        if text.strip():
            yield {"role": "user", "content": text}
    elif info.get("role") == "assistant" and info.get("summary") is not True:
        tools = [part for part in parts if part.get("type") == "tool"]
        if text.strip() or tools:
            made = [tool_call(part.get("callID"), part.get("tool"), _state(part).get("input") or {}) for part in tools]
            yield {"role": "assistant", "content": text or None, **({"tool_calls": made} if made else {})}
        for part in tools:
            yield from _result(part)


def _text(part: Record) -> str:
    if part.get("type") == "file":
        return "[image]" if str(part.get("mime")).startswith("image/") else f"[file {part.get('filename') or ''}]"
    return text_of([part]) if part.get("type") == "text" and not part.get("ignored") else ""


def _result(part: Record) -> Iterator[Message]:
    """The result of a call that has ended."""
    state = _state(part)
    output = {"completed": state.get("output"), "error": state.get("error")}.get(str(state.get("status")))
    if output is not None:
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        yield {"role": "tool", "tool_call_id": str(part.get("callID") or ""), "content": text}


def _state(part: Record) -> Record:
    state = part.get("state")
    return state if isinstance(state, dict) else {}


def _json(text: Any) -> Record:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
