"""Read JSON lines of other tools, and what is in them; skip lines that are incomplete or not objects."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from handoff_cli.errors import UsageProblem


def records(path: Path) -> Iterator[dict[str, Any]]:
    """Every object in the file, in order. Raises UsageProblem if it cannot be read."""
    return parse_lines(read_bytes(path))


def read_bytes(path: Path) -> bytes:
    """The whole file. Raises UsageProblem if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror}. Check the path.") from error


def parse_lines(raw: bytes) -> Iterator[dict[str, Any]]:
    """Every object among these lines, in order."""
    for line in raw.decode("utf-8", "replace").split("\n"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def first_record(path: Path) -> dict[str, Any]:
    """The object on the first line, without reading the rest; empty if there is none."""
    try:
        with path.open("rb") as file:
            value = json.loads(file.readline())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def newest(paths: Iterable[Path]) -> list[Path]:
    """The files, newest first, without those that disappear while this runs."""
    aged = []
    for path in paths:
        try:
            aged.append((path.stat().st_mtime, path))
        except OSError:
            continue
    return [path for _, path in sorted(aged, reverse=True)]


def text_of(content: Any) -> str:
    """The text of a content (text or a list of parts); an image becomes `[image]`."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(filter(None, map(_part_text, content)))


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    kind = str(part.get("type") or "")
    return "[image]" if "image" in kind else ""


def tool_call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """A call of a tool in the usual form; arguments that are not text become JSON."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": str(call_id or ""), "type": "function", "function": {"name": str(name or "tool"), "arguments": text}}
