"""Reads back what a question shows: the reverse of the runner's marks and entries."""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from shared.ports.platforms import Part

_MARK = re.compile(r"⟦U\+([0-9A-F]{4,6})(?:×([0-9]+))?⟧|(↵)|(⇥)|(⟦⟧)")
_ENTRY = re.compile(r"▸ ?([^:=▸]*?) ?([:=]) *([^▸]*)")
_STEP = re.compile(r"\[([0-9]+)\]|\.?([^.\[\]]+)")
_CODE = re.compile(r"^```\n(.*?)\n?^```$", re.DOTALL | re.MULTILINE)
_HUNK = re.compile(r"@@ -([0-9]+)(?:,([0-9]+))? \+[0-9]+(?:,[0-9]+)? @@")


def decoded(text: str) -> str:
    """The text behind its marks. A newline without a mark, and what a platform puts between characters, is layout."""
    return _MARK.sub(_character, re.sub("[\n\u200b\u2060]", "", text))


def _character(mark: "re.Match[str]") -> str:
    code, count, newline, tab, _ = mark.groups()
    return chr(int(code, 16)) * int(count or 1) if code else "\n" if newline else "\t" if tab else ""


def entries(detail: str) -> list[tuple[str, Any]]:
    """The entries of a detail: names as they are shown, and values."""
    layout = re.sub("[\n\u200b\u2060]", "", detail)
    found = list(_ENTRY.finditer(layout))
    assert "".join(entry[0] for entry in found) == layout
    return [(entry[1], json.loads(decoded(entry[3])) if entry[2] == "=" else decoded(entry[3])) for entry in found]


def arguments(detail: str) -> dict[str, Any]:
    """The arguments that a detail shows."""
    made: dict[str, Any] = {}
    for name, value in entries(detail):
        if not name.startswith("("):
            _put(made, list(_steps(name)), value)
    return made


def _steps(name: str) -> Iterator[str | int]:
    for number, key in _STEP.findall(name):
        yield int(number) if number else decoded(key)


def _put(made: Any, steps: list[str | int], value: Any) -> None:
    for step, following in pairwise(steps):
        below: Any = [] if isinstance(following, int) else {}
        if isinstance(made, list):
            if step == len(made):
                made.append(below)
        else:
            made.setdefault(step, below)
        made = made[step]
    made.append(value) if isinstance(made, list) else made.__setitem__(steps[-1], value)


def patched(old: str, diff: str) -> str:
    """The text that a diff makes of another."""
    lines = old.split("\n")
    source = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    made: list[str] = []
    at, sign = 0, ""
    for line in diff.split("\n")[:-1]:
        if hunk := _HUNK.fullmatch(line):
            start = int(hunk[1]) - (hunk[2] != "0")
            made += source[at:start]
            at = start
        elif line.startswith("\\"):
            made += [made.pop().removesuffix("\n")] if sign != "-" else []
        else:
            sign = line[0]
            at += sign in " -"
            made += [f"{line[1:]}\n"] if sign in " +" else []
    return "".join(made + source[at:])


def code_of(parts: Iterable[Part]) -> str:
    """What the code blocks of rendered parts show."""
    return "\n".join(code for part in parts for code in _code_of(part))


def _code_of(part: Part) -> list[str]:
    if "entities" not in part.extra:
        return _CODE.findall(part.text)
    units = part.text.encode("utf-16-le")
    blocks = [entity for entity in part.extra["entities"] if entity["type"] == "pre"]
    return [units[2 * at["offset"] : 2 * (at["offset"] + at["length"])].decode("utf-16-le") for at in blocks]
