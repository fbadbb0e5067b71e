"""JSON with comments and trailing commas, parsed with the position of each value, so that text can be edited in place."""

import json
import re
from dataclasses import dataclass, field

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_DEEPEST = 100


class NotJson(ValueError):
    """The text cannot be read; the message says where."""


@dataclass
class Node:
    """A value from `start` to `end`. Objects have members, arrays have items."""

    start: int
    end: int = 0
    kind: str = "scalar"
    value: object = None
    members: list[tuple[int, str, "Node"]] = field(default_factory=list)
    """(position of the key, key, value)"""
    items: list["Node"] = field(default_factory=list)

    def get(self, key: str) -> "Node | None":
        """The member of that name; the last one counts, as for every reader of JSON."""
        return next((node for _, name, node in reversed(self.members) if name == key), None)

    @property
    def parts(self) -> list[tuple[int, int]]:
        """(start, end) of each member with its key, or of each item."""
        if self.kind == "object":
            return [(start, node.end) for start, _, node in self.members]
        return [(node.start, node.end) for node in self.items]


def parse(text: str) -> Node:
    """The tree of a text. Raises NotJson."""
    reader = _Reader(text)
    root = reader.value(0, 0)
    if (end := reader.skip(root.end)) != len(text):
        raise reader.problem(end)
    return root


def skip(text: str, at: int) -> int:
    """The position after white space and comments."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, at: int) -> int:
        return skip(self._text, at)

    def problem(self, at: int) -> NotJson:
        line = self._text.count("\n", 0, at) + 1
        return NotJson(f"line {line} is not valid JSON")

    def value(self, at: int, depth: int) -> Node:
        at = self.skip(at)
        first = self._text[at : at + 1]
        if depth > _DEEPEST:
            raise self.problem(at)
        if first == "{":
            return self._object(at, depth)
        if first == "[":
            return self._array(at, depth)
        found = (_STRING if first == '"' else _SCALAR).match(self._text, at)
        if found is None:
            raise self.problem(at)
        try:
            return Node(at, found.end(), value=json.loads(found[0]))
        except ValueError:
            raise self.problem(at) from None

    def _object(self, at: int, depth: int) -> Node:
        node, here = Node(at, kind="object"), at + 1
        while not self._ends(here := self.skip(here), "}"):
            key = _STRING.match(self._text, here)
            if key is None:
                raise self.problem(here)
            colon = self.skip(key.end())
            if self._text[colon : colon + 1] != ":":
                raise self.problem(colon)
            member = self.value(colon + 1, depth + 1)
            node.members.append((here, json.loads(key[0]), member))
            here = self._after(member.end, "}")
        node.end = here + 1
        return node

    def _array(self, at: int, depth: int) -> Node:
        node, here = Node(at, kind="array"), at + 1
        while not self._ends(here := self.skip(here), "]"):
            node.items.append(self.value(here, depth + 1))
            here = self._after(node.items[-1].end, "]")
        node.end = here + 1
        return node

    def _ends(self, at: int, mark: str) -> bool:
        if at >= len(self._text):
            raise self.problem(at)
        return self._text[at] == mark

    def _after(self, at: int, closing: str) -> int:
        """The position after the comma, or of the closing bracket."""
        at = self.skip(at)
        found = self._text[at : at + 1]
        if found not in {",", closing}:
            raise self.problem(at)
        return at + 1 if found == "," else at
