"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.jsonl`, messages and changes to them, one per line."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from handoff_cli.errors import UsageProblem
from handoff_cli.readers.json_lines import newest, records, text_of, tool_call
from handoff_cli.readers.source import Source, named_session, only_file
from handoff_cli.transcripts.messages import Message, Transcript

_TOOL = "gemini"
# Messages of type `user` that the program adds at the start of a session.
_NOT_FROM_USER = ("<session_context>", "<state_snapshot>")

Record = dict[str, Any]


def read(source: Source) -> Transcript:
    """The named session, or the newest one in the directory."""
    path = only_file(source, _TOOL) or (_named(source) if source.session else _newest(source))
    about, stored = _replay(path)
    messages = list(_messages(stored))
    if not messages:
        raise UsageProblem(f"{path} is not a conversation of Gemini CLI.")
    models = (record.get("model") for record in reversed(stored))
    return Transcript(
        messages,
        title=about["summary"] if isinstance(about.get("summary"), str) else None,
        model=next((model for model in models if isinstance(model, str)), None),
        cwd=None if source.path or source.session else str(source.directory),
        native_id=str(about["sessionId"]) if about.get("sessionId") and not source.path else None,
    )


def _root(source: Source) -> Path:
    return source.home("GEMINI_CLI_HOME", "") / ".gemini"


def _newest(source: Source) -> Path:
    root = _root(source)
    chats = (path for folder in _folders(root, str(source.directory)) for path in folder.glob("chats/session-*.jsonl"))
    for path in newest(chats):
        about, stored = _replay(path)
        # Other kinds are sub-agents.
        if about.get("kind", "main") == "main" and any(_messages(stored)):
            return path
    raise UsageProblem(
        f"No Gemini CLI session of {source.directory} was found in {root / 'tmp'}. Change to the directory where you "
        f"worked, or name the session with --from {_TOOL}:ID or its file with --transcript."
    )


def _folders(root: Path, directory: str) -> list[Path]:
    """The folders of one project: named in a file in each of them, by older versions with a hash of the path."""
    hashed = root / "tmp" / hashlib.sha256(directory.encode("utf-8", "surrogateescape")).hexdigest()
    marked = [mark.parent for mark in root.glob("tmp/*/.project_root") if _text(mark).strip() == directory]
    return [hashed, *marked]


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


def _named(source: Source) -> Path:
    # A session that was resumed may have further files with nothing but a header: the fullest one counts.
    found = []
    for path in newest(_root(source).glob("tmp/*/chats/session-*.jsonl")):
        about, stored = _replay(path)
        found.append((str(about.get("sessionId") or ""), path, len(stored)))
    found.sort(key=lambda entry: entry[2])
    return named_session(((session, path) for session, path, _ in found), str(source.session), _TOOL)


def _replay(path: Path) -> tuple[Record, list[Record]]:
    """The description of the session, and its messages after all changes. Raises UsageProblem."""
    about: Record = {}
    stored: dict[str, Record] = {}
    for record in records(path):
        change = record.get("$set")
        if isinstance(rewound := record.get("$rewindTo"), str):
            ids = list(stored)
            for gone in ids[ids.index(rewound) :] if rewound in stored else ids:
                del stored[gone]
        elif isinstance(record.get("id"), str):
            stored[record["id"]] = record
        elif isinstance(change, dict):
            about.update(change)
            if isinstance(replaced := change.get("messages"), list):
                stored = {m["id"]: m for m in replaced if isinstance(m, dict) and isinstance(m.get("id"), str)}
        else:
            about.update(record)
    return about, list(stored.values())


def _messages(stored: list[Record]) -> Iterator[Message]:
    answered: set[str] = set()
    for record in stored:
        content = record.get("content")
        if record.get("type") == "gemini":
            calls = _calls(record)
            if text_of(content).strip() or calls:
                made = [tool_call(call.get("id"), call.get("name"), call.get("args") or {}) for call in calls]
                more = {"tool_calls": made} if made else {}
                yield {"role": "assistant", "content": text_of(content) or None, **more}
            for call in calls:
                yield from _results(call.get("result"), answered)
        elif record.get("type") == "user":
            # Results come with their call, too; a call of an older version has them only here.
            yield from _results(content, answered)
            if text_of(content).strip() and not text_of(content).lstrip().startswith(_NOT_FROM_USER):
                yield {"role": "user", "content": text_of(content)}


def _calls(record: Record) -> list[Record]:
    calls, content = record.get("toolCalls"), record.get("content")
    if not isinstance(calls, list) or not calls:
        parts = content if isinstance(content, list) else []
        calls = [part.get("functionCall") for part in parts if isinstance(part, dict)]
    return [call for call in calls if isinstance(call, dict)]


def _results(parts: Any, answered: set[str]) -> Iterator[Message]:
    """A result for each call that has none yet."""
    for part in parts if isinstance(parts, list) else []:
        result = part.get("functionResponse") if isinstance(part, dict) else None
        if not isinstance(result, dict) or str(result.get("id") or "") in answered:
            continue
        answered.add(str(result.get("id") or ""))
        response = result.get("response")
        output = response.get("output", response.get("error")) if isinstance(response, dict) else response
        text = output if isinstance(output, str) else json.dumps(response, ensure_ascii=False)
        yield {"role": "tool", "tool_call_id": str(result.get("id") or ""), "content": text}
