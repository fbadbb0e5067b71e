"""Add an entry to JSON text, or remove one. Everything else keeps its bytes: comments, order, indentation."""

import json
import re
from collections.abc import Callable
from typing import Any

from handoff_cli.inside.setup.json_tree import Node, parse, skip

_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/)?[ \t]*(?=\r?\n)")
_INDENT = "  "


def add(text: str, path: tuple[str, ...], entry: Any) -> str:
    """Append the entry to the array at this path of keys; what is missing on the way is made.

    Raises NotJson, and TypeError if something on the way is not an object, or the end not an array.
    """
    if not text.strip():
        text = "{}\n"
    node, keys = parse(text), list(path)
    while keys:
        if node.kind != "object":
            raise TypeError(f"{'.'.join(path[: len(path) - len(keys)]) or 'the whole'} is not an object")
        found = node.get(keys[0])
        if found is None:
            made: Any = [entry]
            for key in reversed(keys[1:]):
                made = {key: made}
            return _append(text, node, made, key=keys[0])
        node, keys = found, keys[1:]
    if node.kind != "array":
        raise TypeError(f"{'.'.join(path)} is not a list")
    return _append(text, node, entry)


def remove(text: str, path: tuple[str, ...], is_ours: Callable[[Any], bool]) -> str:
    """Without the entries of the array at this path that are ours; lists and objects that this empties go, too.

    Raises NotJson. Returns the text unchanged if nothing is ours.
    """
    while True:
        trail = _trail(parse(text), path)
        array = trail[-1] if len(trail) == len(path) + 1 else None
        at = next((at for at, item in enumerate(array.items) if is_ours(_plain(item))), None) if array else None
        if at is None:
            return text
        while len(trail) > 1 and len(trail[-1].parts) == 1:
            parent = trail[-2]
            child = trail.pop()
            at = next(number for number, (_, end) in enumerate(parent.parts) if end == child.end)
        text = _without(text, trail[-1], at)


def _trail(root: Node, path: tuple[str, ...]) -> list[Node]:
    found = [root]
    for key in path:
        node = found[-1].get(key) if found[-1].kind == "object" else None
        if node is None:
            break
        found.append(node)
    return found


def _plain(node: Node) -> Any:
    if node.kind == "object":
        return {key: _plain(member) for _, key, member in node.members}
    return [_plain(item) for item in node.items] if node.kind == "array" else node.value


def _append(text: str, node: Node, entry: Any, *, key: str | None = None) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    parts = node.parts
    if not parts:
        inside = _line_indent(text, node.start) + _unit(text)
        body = name + _dump(entry, inside, _unit(text), newline)
        closing = newline + _line_indent(text, node.start)
        # A comment may be all that is inside.
        return text[: node.end - 1].rstrip(" \t\r\n") + newline + inside + body + closing + text[node.end - 1 :]
    start, end = parts[-1]
    after = skip(text, end)
    comma = text[after] == ","
    if "\n" not in text[node.start : start]:
        body = name + json.dumps(entry, ensure_ascii=False)
        at = after + 1 if comma else end
        return f"{text[:at]}{' ' if comma else ', '}{body}{text[at:]}"
    inside = _line_indent(text, start)
    body = name + _dump(entry, inside, _unit(text), newline) + ("," if comma else "")
    at = after + 1 if comma else end
    # A comment behind the last entry stays there.
    rest = _REST_OF_LINE.match(text, at)
    stop = rest.end() if rest else at
    return f"{text[:at]}{'' if comma else ','}{text[at:stop]}{newline}{inside}{body}{text[stop:]}"


def _without(text: str, node: Node, at: int) -> str:
    parts = node.parts
    start, end = parts[at]
    after = skip(text, end)
    if text[after] == ",":
        if at + 1 < len(parts):
            return text[:start] + text[parts[at + 1][0] :]
        return _joined(text[:start], text[after + 1 :])
    if at:
        # The comma before it goes, comments between the two stay.
        before = parts[at - 1][1]
        comma = skip(text, before)
        return _joined(text[:comma] + text[comma + 1 : start], text[end:])
    if text[node.start + 1 : start].strip() or text[end : node.end - 1].strip():
        return _joined(text[:start], text[end:])
    return text[: node.start + 1] + text[node.end - 1 :]


def _joined(head: str, tail: str) -> str:
    """Without the white space of the line that is gone; nothing may come behind a comment that ends with its line."""
    head = head.rstrip(" \t\r\n")
    last = head[head.rfind("\n") + 1 :]
    apart = "\n" if "//" in last and not tail.lstrip(" \t\r").startswith("\n") else ""
    return head + apart + tail


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """The indentation of the first indented line."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else _INDENT


def _dump(entry: Any, indent: str, unit: str, newline: str) -> str:
    lines = json.dumps(entry, indent="\t" if "\t" in unit else len(unit), ensure_ascii=False).split("\n")
    return f"{newline}{indent}".join(lines)
