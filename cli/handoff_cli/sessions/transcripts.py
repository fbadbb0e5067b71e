"""Reads a transcript file, and refuses a broken one with its line before anything is sent."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from handoff_cli.errors import UsageProblem
from handoff_cli.sessions.located_json import NotJson, elements, line_of, parse

Message = dict[str, Any]

ROLES = frozenset({"system", "user", "assistant", "tool"})
MESSAGE_LIMIT = 256 * 1024


@dataclass(frozen=True)
class Transcript:
    """Messages in order, and what the file said about the session they are from."""

    messages: list[Message]
    title: str | None = None
    model: str | None = None
    source: str | None = None
    cwd: str | None = None
    notes: tuple[str, ...] = field(default=())


def canonical(message: Mapping[str, Any]) -> bytes:
    """A message's canonical JSON: what is measured and digested, here and on the service."""
    text = json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def wire(message: Mapping[str, Any]) -> bytes:
    """The same message as valid UTF-8; half an emoji, as tools leave it when they cut, goes as an escape."""
    try:
        return json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(message, sort_keys=True, separators=(",", ":")).encode()


def read_transcript(name: str, stdin: BinaryIO, *, roles: Mapping[str, str] | None = None) -> Transcript:
    """Reads JSON (an array or {"messages": […]}) or JSONL; `-` is stdin; `roles` renames. Raises UsageProblem with the line."""
    text = _text(name, stdin)
    shown = "stdin" if name == "-" else name
    if not text.strip():
        raise UsageProblem(f"{shown} is empty: there is nothing to hand over.")
    try:
        located, about = _located(text, jsonl=name.endswith(".jsonl"))
        messages = [_checked(_renamed(value, roles or {}), line) for line, value in located]
    except NotJson as error:
        raise UsageProblem(f"{shown}, line {error.line}: {error}. Nothing was sent.") from error
    if not messages:
        raise UsageProblem(f"{shown} holds no messages: there is nothing to hand over.")
    title, model = about.get("title"), about.get("model")
    return Transcript(
        messages,
        title=title if isinstance(title, str) else None,
        model=model if isinstance(model, str) else None,
    )


def check(messages: list[Message], shown: str) -> None:
    """The same rules for messages that a reader made; raises UsageProblem with the message's number."""
    for number, message in enumerate(messages, start=1):
        if problem := _problem(message):
            raise UsageProblem(f"{shown}, message {number}: {problem}. Nothing was sent.")


def _text(name: str, stdin: BinaryIO) -> str:
    shown = "stdin" if name == "-" else name
    try:
        raw = stdin.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageProblem(f"{shown} cannot be read: {error.strerror}. Check the path.") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UsageProblem(f"{shown}, line {line}: not UTF-8 text. Save it as UTF-8; nothing was sent.") from error


def _located(text: str, *, jsonl: bool) -> tuple[Iterator[tuple[int, Any]], Mapping[str, Any]]:
    if text.lstrip().startswith("["):
        return elements(text, key=None), {}
    document = _document(text, jsonl=jsonl)
    if document is None:
        return _lines(text), {}
    if not isinstance(document.get("messages"), list):
        raise NotJson('expected an array of messages, or an object with "messages"', line_of(text, 0))
    return elements(text, key="messages"), document


def _document(text: str, *, jsonl: bool) -> dict[str, Any] | None:
    """The file as one JSON object that is not itself a message; None if it is one message per line."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = parse(text)
    except NotJson:
        lines = [line for line in text.split("\n") if line.strip()]
        starts = sum(line.startswith("{") for line in lines)
        if jsonl or (len(lines) > 1 and starts * 2 >= len(lines)):
            return None
        raise
    return value if isinstance(value, dict) and "role" not in value else None


def _lines(text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, parse(line, first_line=number)


def _renamed(value: Any, roles: Mapping[str, str]) -> Any:
    if isinstance(value, dict) and isinstance(value.get("role"), str) and value["role"] in roles:
        return {**value, "role": roles[value["role"]]}
    return value


def _checked(value: Any, line: int) -> Message:
    if problem := _problem(value):
        raise NotJson(problem, line)
    message: Message = value
    return message


def _problem(message: Any) -> str | None:
    if not isinstance(message, dict):
        return 'a message is an object such as {"role": "user", "content": "…"}'
    role, content, calls = message.get("role"), message.get("content"), message.get("tool_calls")
    if not isinstance(role, str) or role not in ROLES:
        return f"unknown role {role!r}; the roles are {', '.join(sorted(ROLES))}" if "role" in message else 'no "role"'
    if content is not None and not isinstance(content, str | list):
        return '"content" is text, null or a list of parts'
    if calls is not None and not isinstance(calls, list):
        return '"tool_calls" is a list'
    if content is None and not calls:
        return 'no "content", and no "tool_calls" that would explain it'
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        return 'a tool message names the call that it answers in "tool_call_id"'
    return _size_problem(message)


def _size_problem(message: Message) -> str | None:
    size = len(canonical(message))
    if size > MESSAGE_LIMIT:
        return f"the message has {size // 1024} KiB; at most {MESSAGE_LIMIT // 1024} KiB can be handed over"
    return None
