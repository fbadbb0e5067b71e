"""Codex CLI: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, records of `{timestamp, type, payload}`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from handoff_cli.errors import UsageProblem
from handoff_cli.readers.json_lines import first_record, newest, records, text_of
from handoff_cli.readers.source import Source
from handoff_cli.transcripts.messages import Message, Transcript

# Messages of role `user` that the tool itself adds at the start of a session.
_NOT_FROM_USER = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<permissions",
    "<INSTRUCTIONS>",
    "<skill>",
)
_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
_OUTPUTS = {"function_call_output", "custom_tool_call_output"}


def read(source: Source) -> Transcript:
    """The session in the named file, or the newest one in the directory."""
    path = source.path or _newest(source)
    lines = list(records(path))
    messages = list(_messages(lines))
    if not messages:
        raise UsageProblem(f"{path} is not a conversation of Codex.")
    meta = _meta(lines)
    return Transcript(
        messages,
        title=_title(source, str(meta.get("id") or "")),
        model=next(
            (
                str(p["model"])
                for kind, p in map(_unwrapped, reversed(lines))
                if kind == "turn_context" and p.get("model")
            ),
            None,
        ),
        cwd=str(meta["cwd"]) if meta.get("cwd") else None,
    )


def _newest(source: Source) -> Path:
    sessions = source.home("CODEX_HOME", ".codex") / "sessions"
    for path in newest(sessions.rglob("rollout-*.jsonl")):
        meta = _meta([first_record(path)])
        if meta.get("cwd") == str(source.directory) and any(_messages(list(records(path)))):
            return path
    raise UsageProblem(
        f"No Codex session of {source.directory} was found in {sessions}. "
        "Change to the directory where you worked, or name a file with --transcript."
    )


def _unwrapped(line: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """(kind, payload); the oldest files have no envelope."""
    payload = line.get("payload")
    if isinstance(payload, dict):
        return str(line.get("type")), payload
    return ("response_item" if line.get("type") else "session_meta"), line


def _meta(lines: Any) -> dict[str, Any]:
    for line in lines:
        kind, payload = _unwrapped(line)
        return payload if kind == "session_meta" else {}
    return {}


def _title(source: Source, session_id: str) -> str | None:
    index = source.home("CODEX_HOME", ".codex") / "session_index.jsonl"
    if not session_id or not index.is_file():
        return None
    names = [line.get("thread_name") for line in records(index) if line.get("id") == session_id]
    return next((name for name in reversed(names) if isinstance(name, str) and name), None)


def _messages(lines: list[dict[str, Any]]) -> Iterator[Message]:
    """Consecutive calls become one assistant message, as other tools expect."""
    calls: list[dict[str, Any]] = []
    for kind, item in map(_unwrapped, lines):
        if kind != "response_item":
            continue
        if item.get("type") in _CALLS:
            calls.append(_call(item))
            continue
        message = _message(item)
        if message is None:
            continue
        if calls:
            yield {"role": "assistant", "content": None, "tool_calls": calls}
            calls = []
        yield message
    if calls:
        yield {"role": "assistant", "content": None, "tool_calls": calls}


def _message(item: dict[str, Any]) -> Message | None:
    kind, role = item.get("type"), item.get("role")
    if kind in _OUTPUTS:
        return {"role": "tool", "tool_call_id": str(item.get("call_id") or ""), "content": _output(item.get("output"))}
    text = text_of(item.get("content"))
    if kind != "message" or role not in {"user", "assistant"} or not text.strip():
        return None
    return None if role == "user" and text.lstrip().startswith(_NOT_FROM_USER) else {"role": role, "content": text}


def _call(item: dict[str, Any]) -> dict[str, Any]:
    arguments = item.get("arguments") or item.get("input") or item.get("action") or {}
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    function = {"name": str(item.get("name") or "shell"), "arguments": text}
    return {"id": str(item.get("call_id") or item.get("id") or ""), "type": "function", "function": function}


def _output(output: Any) -> str:
    if isinstance(output, dict):
        return text_of(output.get("content")) or json.dumps(output, ensure_ascii=False)
    return text_of(output)
