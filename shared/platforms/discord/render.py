"""Adapts an agent's Markdown to Discord: tables as code, one kind of code block, three levels of headings."""

import re
import unicodedata
from collections.abc import Sequence

from shared.platforms.markdown.code_blocks import CodeBlock

# Discord has one kind of code block, and ends it at the next three backticks anywhere.
_CODE_MARKS = "```"
_BACKTICKS = re.compile(r"`{3,}")
_SEPARATOR = "\u200b"
_LANGUAGE = re.compile(r"[\w+.#-]*")
_DEEP_HEADING = re.compile(r"^#{4,6}[ \t]+(.+?)[ \t]*#*$")
_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_CELL_END = re.compile(r"(?<!\\)\|")
# Wider columns are not padded: one long cell would fill the message with blanks.
_WIDEST_COLUMN = 40


def for_discord(markdown: str) -> str:
    """The text with markup that Discord supports. Pure; changes only markup."""
    lines = re.sub(r"\r\n?", "\n", markdown).split("\n")
    written: list[str] = []
    code: CodeBlock | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        if code is not None and not code.holds(line):
            written.append(code.containers + _CODE_MARKS)
            code = None
        if code is not None:
            closed = code.closed_by(line)
            written.append(code.containers + _CODE_MARKS if closed else _without_backticks(line))
            code = None if closed else code
        elif opened := CodeBlock.opened_by(line):
            written += _opening(line[: len(opened.containers)], opened)
            code = opened
        elif rows := _table(lines, at):
            written += [_CODE_MARKS, *_aligned(rows), _CODE_MARKS]
            at += len(rows)  # the rule below the head is not in rows; the increment below skips it
        else:
            written.append(_DEEP_HEADING.sub(r"**\1**", _without_backticks(line)))
        at += 1
    if code is not None:
        written.append(code.containers + _CODE_MARKS)
    return "\n".join(written)


def _opening(margin: str, code: CodeBlock) -> list[str]:
    """The code block's first line; an info text that Discord would not read as a language becomes code."""
    if _LANGUAGE.fullmatch(code.info):
        return [margin + _CODE_MARKS + code.info]
    return [margin + _CODE_MARKS, code.containers + _without_backticks(code.info)]


def _table(lines: Sequence[str], at: int) -> list[list[str]]:
    """The rows of the table that begins at this line, without the rule below its head; empty if there is none."""
    if "|" not in lines[at] or at + 1 == len(lines) or not _RULE.match(lines[at + 1]):
        return []
    head = _cells(lines[at])
    if len(head) != len(_cells(lines[at + 1])):
        return []
    rows = [head]
    for line in lines[at + 2 :]:
        if "|" not in line or not line.strip() or CodeBlock.opened_by(line):
            break
        rows.append(_cells(line))
    return rows


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(inner)]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    columns = max(len(row) for row in rows)
    widths = [
        max((w for row in rows if column < len(row) and (w := _width(row[column])) <= _WIDEST_COLUMN), default=0)
        for column in range(columns)
    ]
    lines = [_row(row, widths) for row in rows]
    return [lines[0], "-+-".join("-" * width for width in widths), *lines[1:]]


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [cell + " " * max(0, width - _width(cell)) for cell, width in zip(row, widths, strict=False)]
    return _without_backticks(" | ".join(cells).rstrip())


def _width(text: str) -> int:
    """The width of a text in a fixed-width font: East Asian letters and emoji take two columns."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _without_backticks(line: str) -> str:
    return _BACKTICKS.sub(lambda run: _SEPARATOR.join(run[0]), line)
