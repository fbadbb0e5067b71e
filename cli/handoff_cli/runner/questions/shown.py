"""The text of a question about a permission request: all of it is shown, or it cannot be allowed.

Each entry is `▸ name: text` or `▸ name = JSON`. Names are those of the arguments (`edits[0].new_text`), `command` first;
what the agent sends beside its arguments has a name in parentheses.
"""

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from acp import schema

from handoff_cli.runner.questions.request import Request
from handoff_cli.runner.questions.visible import CLOSE, ENTRY, OPEN, visible
from handoff_cli.transcripts.likely_secrets import mask_words

LONGEST_INPUT = 8 * 1024
"""Bytes that are shown whole: more would be read by nobody."""
LONGEST_DETAIL = 20_000
"""Characters with all marks."""
_EXCERPT = 2000
_LONGEST_TITLE = 200
_DEEPEST = 8
_NAMES_ITS_FILES = ("read", "delete")
"""Kinds of steps of which the locations say all that would be done."""
_IN_NAMES = ":=.[]()"
_NOTHING: tuple[object, ...] = ("", None, [], {})
_FOR_GOOD = ("allow_always", "reject_always")
MASKED = "It holds what looks like a secret, which is not sent to a chat, so it cannot be allowed here."
IN_FILE = "\n[all of it is in the file below]"
TOO_LONG = "It is too long to show here, so it cannot be allowed here."


class _Choice(Protocol):
    @property
    def kind(self) -> str: ...


Choice = TypeVar("Choice", bound=_Choice)


@dataclass(frozen=True)
class Shown:
    """The texts of a question. `reason` says why it cannot be allowed; empty if it can.

    `whole` is all of it, if only its length is in the way: then it can be allowed once a file with it was sent.
    """

    title: str
    detail: str
    reason: str = ""
    whole: str = ""

    def with_file(self) -> "Shown":
        """The same question, with a file that has the whole text."""
        return replace(self, detail=f"{self.detail}{IN_FILE}", reason="")

    def offered(self, options: Sequence[Choice], *, kind: str, for_good: bool) -> list[Choice]:
        """The options that may be shown. Those that change the mode are never for good: the agent would stop asking."""
        may_be_for_good = for_good and kind != "switch_mode"
        return [
            option
            for option in options
            if (may_be_for_good or option.kind not in _FOR_GOOD)
            and not (self.reason and option.kind.startswith("allow"))
        ]


@dataclass(frozen=True)
class _Entry:
    """One line. `is_beside`: it does not say by itself what would be done."""

    name: str
    value: object
    is_beside: bool = False


def shown(request: Request, *, titles_are_commands: bool = False) -> Shown | None:
    """The request as a question; None if it says nothing about what would be done."""
    entries = list(_entries(request, titles_are_commands=titles_are_commands))
    if not any(map(_says_something, entries)) and not request.is_cut:
        return None
    title, _ = mask_words(request.title[: 4 * _LONGEST_TITLE])
    detail, reason = _detail(entries)
    if reason == TOO_LONG and not any(_line(entry)[1] for entry in entries):  # a name alone may tell of a secret
        # Many short values have long names: then each argument is one value.
        detail, reason = _detail(list(_entries(request, titles_are_commands=titles_are_commands, deepest=0)))
    if request.is_cut or reason == TOO_LONG:
        detail, reason = f"{detail[:_EXCERPT]}\n[… cut here]", TOO_LONG
    whole = _whole(entries) if reason == TOO_LONG and not request.is_cut else ""
    return Shown(_one_line(title), detail, reason, whole)


def _whole(entries: Sequence[_Entry]) -> str:
    """The text of all entries; empty if a likely secret in it is masked."""
    lines = [_line(entry) for entry in entries]
    return "" if any(was_masked for _, was_masked in lines) else "\n".join(text for text, _ in lines)


def _detail(entries: Sequence[_Entry]) -> tuple[str, str]:
    """The text of the entries, and why they cannot be allowed. One that is too long ends early."""
    size, is_masked, lines = 0, False, list[str]()
    for entry in entries:
        line, was_masked = _line(entry)
        size += _size(entry)
        is_masked = is_masked or was_masked
        lines.append(line)
        if size > LONGEST_INPUT:
            break
    detail = "\n".join(lines)
    if size > LONGEST_INPUT or len(detail) > LONGEST_DETAIL:
        return detail, TOO_LONG
    return detail, MASKED if is_masked else ""


def _says_something(entry: _Entry) -> bool:
    return entry.value not in _NOTHING and not entry.is_beside


def _entries(request: Request, *, titles_are_commands: bool, deepest: int = _DEEPEST) -> Iterator[_Entry]:
    arguments = request.input
    if not isinstance(arguments, dict):
        arguments = {"input": arguments} if arguments else {}
    first = [name for name in ("command",) if name in arguments]
    for name in [*first, *(name for name in arguments if name not in first)]:
        yield from _leaves(_named(name), arguments[name], deepest)
    known = set(_texts(arguments))
    for block in request.content:
        yield from _of_content(block, known)
    for location in request.locations:
        if location.path not in known:
            where = location.path if location.line is None else f"{location.path}:{location.line}"
            yield _Entry("(location)", where, is_beside=request.kind not in _NAMES_ITS_FILES)
    if titles_are_commands and not arguments and request.kind == "execute" and request.title.strip():
        yield _Entry("(command)", request.title)


def _leaves(name: str, value: object, deepest: int) -> Iterator[_Entry]:
    if isinstance(value, dict) and value and deepest:
        for key, item in value.items():
            yield from _leaves(f"{name}.{_named(key)}", item, deepest - 1)
    elif isinstance(value, list) and value and deepest:
        for number, item in enumerate(value):
            yield from _leaves(f"{name}[{number}]", item, deepest - 1)
    else:
        yield _Entry(name, value)


def _texts(value: object) -> Iterator[str]:
    """All texts in the arguments: what they say is not repeated."""
    left = [value]
    while left:
        match left.pop():
            case str() as text:
                yield text
            case dict() as items:
                left += items.values()
            case list() as items:
                left += items


def _of_content(block: object, known: set[str]) -> Iterator[_Entry]:
    match block:
        case schema.FileEditToolCallContent():
            if not {block.path, block.old_text or "", block.new_text} <= {*known, ""}:
                known.add(block.path)
                yield _Entry("(file)", block.path)
                yield _Entry("(diff)", unified_diff(block.old_text or "", block.new_text))
        case schema.ContentToolCallContent(content=schema.TextContentBlock(text=text)):
            if text not in known:
                yield _Entry("(text)", text)
        case schema.ContentToolCallContent():
            yield _Entry("(content)", block.content.model_dump(mode="json", exclude_none=True))


def unified_diff(old: str, new: str) -> str:
    """The changed lines with some around them, as `diff -u` shows them."""
    _, _, *made = [*difflib.unified_diff(_lines(old), _lines(new), n=3)] or ["", ""]  # without the names of files
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in made)


def _lines(text: str) -> list[str]:
    """Only a newline ends a line: other separators are part of what is shown."""
    whole = text.split("\n")
    return [f"{line}\n" for line in whole[:-1]] + ([whole[-1]] if whole[-1] else [])


def _line(entry: _Entry) -> tuple[str, bool]:
    """The entry as text, and whether a likely secret in it is masked."""
    if not isinstance(entry.value, str):
        masked, found = mask_words(_json(entry.value))
        return f"{ENTRY} {entry.name} = {visible(masked)}", found
    # A name may tell that its value is a secret.
    together, found = mask_words(f"{entry.name}={entry.value}")
    name, _, value = together.partition("=")
    between = "\n" if "\n" in value else ""
    return f"{ENTRY} {name}: {between}{visible(value)}", found


def _named(key: Any) -> str:
    return visible(str(key), also=_IN_NAMES) or OPEN + CLOSE


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _size(entry: _Entry) -> int:
    text = entry.value if isinstance(entry.value, str) else _json(entry.value)
    return len(f"{entry.name}{text}".encode("utf-8", "surrogatepass"))


def _one_line(title: str) -> str:
    line = visible(" ".join(title.split()))
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1]}…"
