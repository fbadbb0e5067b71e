"""hermes-agent: the tables `sessions` and `messages` of `~/.hermes/state.db`, opened read-only."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from handoff_cli.errors import UsageProblem
from handoff_cli.readers.json_lines import tool_call
from handoff_cli.readers.source import Source, named_session
from handoff_cli.transcripts.messages import ROLES, Message, Transcript

_JSON_MARK = "\x00json:"
_TERMINAL_SOURCES = ("cli", "tui")


def read(source: Source) -> Transcript:
    """The named session, else the terminal session with the newest message, in this directory if that is stored."""
    path = source.path or source.home("HERMES_HOME", ".hermes") / "state.db"
    if not path.is_file():
        raise UsageProblem(f"No hermes-agent database at {path}. Set HERMES_HOME, or name it with --transcript.")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            database.row_factory = sqlite3.Row
            return _read(database, path, source)
    except sqlite3.Error as error:
        raise UsageProblem(f"{path} cannot be read as a hermes-agent database: {error}.") from error


def _read(database: sqlite3.Connection, path: Path, source: Source) -> Transcript:
    session = _named(database, source.session) if source.session else _newest(database, str(source.directory))
    if session is None:
        raise UsageProblem(
            f"{path} has no terminal session of {source.directory}. Name one with --from hermes:ID, or another "
            "database with --transcript."
        )
    return Transcript(
        list(_messages(database, session["id"])),
        title=session.get("title"),
        model=session.get("model"),
        cwd=session.get("cwd"),
        native_id=None if source.path else str(session["id"]),
    )


def _named(database: sqlite3.Connection, session_id: str) -> dict[str, Any]:
    rows = map(dict, database.execute("SELECT * FROM sessions"))
    return named_session(((str(row["id"]), row) for row in rows), session_id, "hermes")


def _newest(database: sqlite3.Connection, directory: str) -> dict[str, Any] | None:
    rows = database.execute(
        "SELECT s.*, MAX(m.id) AS last_message FROM sessions s JOIN messages m ON m.session_id = s.id "
        "GROUP BY s.id ORDER BY last_message DESC"
    )
    for row in map(dict, rows):
        known = row.get("cwd")
        if row.get("source") in _TERMINAL_SOURCES and not _is_helper(database, row) and known in {None, "", directory}:
            return row
    return None


def _is_helper(database: sqlite3.Connection, row: dict[str, Any]) -> bool:
    """A child session is a helper's, unless it is a branch or continues a compressed parent."""
    if not row.get("parent_session_id") or "_branched_from" in str(row.get("model_config")):
        return False
    parent = database.execute("SELECT * FROM sessions WHERE id = ?", [row["parent_session_id"]]).fetchone()
    return parent is None or dict(parent).get("end_reason") != "compression"


def _messages(database: sqlite3.Connection, session_id: str) -> Iterator[Message]:
    # By id alone: the clock may have been set back.
    rows = database.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", [session_id])
    for row in map(dict, rows):
        # A rewound message stays in the table but is not part of the conversation.
        if row.get("role") not in ROLES or row.get("active", 1) == 0:
            continue
        message: Message = {"role": row["role"], "content": _content(row.get("content"))}
        if calls := _calls(row.get("tool_calls")):
            message["tool_calls"] = calls
        if row["role"] == "tool":
            message["tool_call_id"] = row.get("tool_call_id") or ""
            message["content"] = message["content"] or ""
            if row.get("tool_name"):
                message["name"] = row["tool_name"]
        if message["content"] or "tool_calls" in message or row["role"] == "tool":
            yield message


def _calls(stored: Any) -> list[dict[str, Any]]:
    """The calls in the usual form: hermes stores more keys with them."""
    found = _json(stored)
    calls = [call for call in found if isinstance(call, dict)] if isinstance(found, list) else []
    return [
        tool_call(call.get("id") or call.get("call_id"), function.get("name"), function.get("arguments") or "{}")
        for call in calls
        if isinstance(function := call.get("function"), dict)
    ]


def _content(stored: Any) -> Any:
    if isinstance(stored, bytes):
        stored = stored.decode("utf-8", "replace")
    if isinstance(stored, str) and stored.startswith(_JSON_MARK):
        return _json(stored.removeprefix(_JSON_MARK)) or stored.removeprefix(_JSON_MARK)
    return stored


def _json(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
