"""Read a transcript file; reject an invalid one, with the line, before anything is sent."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from handoff_cli.errors import UsageProblem
from handoff_cli.transcripts.messages import Message, Transcript, problem_of


class _Invalid(ValueError):
    """The file is not a transcript; the message says where and why."""


def read_transcript(name: str, stdin: BinaryIO, *, roles: Mapping[str, str] | None = None) -> Transcript:
    """Read JSON (an array or {"messages": […]}) or JSON lines; `-` is stdin; `roles` renames. Raises UsageProblem."""
    text = _text(name, stdin)
    shown = "stdin" if name == "-" else name
    if not text.strip():
        raise UsageProblem(f"{shown} is empty: there is nothing to hand over.")
    try:
        document = _document(text, jsonl=name.endswith(".jsonl"))
        located, about = (_lines(text), {}) if document is None else _elements(document)
        messages = [_checked(_renamed(value, roles or {}), where) for where, value in located]
    except _Invalid as error:
        raise UsageProblem(f"{shown}, {error}. Nothing was sent.") from error
    if not messages:
        raise UsageProblem(f"{shown} has no messages: there is nothing to hand over.")
    title, model = about.get("title"), about.get("model")
    return Transcript(
        messages,
        title=title if isinstance(title, str) else None,
        model=model if isinstance(model, str) else None,
    )


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


def _document(text: str, *, jsonl: bool) -> Any:
    """The file as one JSON array or object; None if it has one message per line."""
    start = text.lstrip()[:1]
    if start not in {"[", "{"}:
        return None
    try:
        value = _parse(text, 1)
    except _Invalid:
        lines = [line for line in text.split("\n") if line.strip()]
        starts = sum(line.startswith("{") for line in lines)
        if start == "{" and (jsonl or (len(lines) > 1 and starts * 2 >= len(lines))):
            return None
        raise
    # A single object with a role is a file of one line.
    return None if isinstance(value, dict) and "role" in value else value


def _elements(document: Any) -> tuple[Iterator[tuple[str, Any]], Mapping[str, Any]]:
    about = document if isinstance(document, dict) else {}
    messages = document if isinstance(document, list) else about.get("messages")
    if not isinstance(messages, list):
        raise _Invalid('line 1: expected an array of messages, or an object with "messages"')
    return ((f"message {number}", value) for number, value in enumerate(messages, start=1)), about


def _lines(text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"line {number}", _parse(line, number)


def _parse(text: str, first_line: int) -> Any:
    try:
        return json.loads(text, parse_constant=_reject_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise _Invalid(f"line {first_line + error.lineno - 1}: not JSON ({error.msg})") from error
    except RecursionError as error:
        raise _Invalid(f"line {first_line}: nested too deeply") from error
    except ValueError as error:
        raise _Invalid(f"line {first_line}: not JSON ({error})") from error


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _reject_constant(text)


def _renamed(value: Any, roles: Mapping[str, str]) -> Any:
    if isinstance(value, dict) and isinstance(value.get("role"), str) and value["role"] in roles:
        return {**value, "role": roles[value["role"]]}
    return value


def _checked(value: Any, where: str) -> Message:
    if problem := problem_of(value):
        raise _Invalid(f"{where}: {problem}")
    message: Message = value
    return message
