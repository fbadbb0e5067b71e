"""The lines of a Markdown text, and the code blocks and tables that contain them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from shared.platforms.markdown.code_blocks import CodeBlock

_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")


@dataclass(frozen=True, eq=False)
class Block:
    """The block around a line: how a piece that ends in it is closed, and how the next piece reopens it.

    Two blocks are never equal, as two code blocks of one text may look alike.
    """

    opener: str = ""
    code: CodeBlock | None = None

    @property
    def closer(self) -> str:
        return self.code.closer if self.code else ""


@dataclass(frozen=True)
class Line:
    """One line with its newline. `glued`: not to be cut at its end; `marker`: nor inside."""

    start: int
    end: int
    text: str
    before: Block | None = None
    after: Block | None = None
    glued: bool = False
    marker: bool = False


def scan(text: str, longest: int) -> list[Line]:
    """The lines of a text whose code blocks are well formed. A table whose head is over `longest` is no block."""
    lines: list[Line] = []
    block: Block | None = None
    code: CodeBlock | None = None
    start = 0
    for here, following in _with_next(text):
        before, end, glued, marker = block, start + len(here), False, False
        if code is not None:
            marker = code.closed_by(here)
            glued = not marker and code.closed_by(following)
            code, block = (None, None) if marker else (code, block)
        elif (opened := CodeBlock.opened_by(here)) is not None:
            code, block, glued, marker = opened, _block_of(opened), True, True
        elif _is_table_head(here, following) and len(here) + len(following) <= longest:
            block, glued = Block(opener=here + following), True
        elif block is not None and "|" not in here:
            before = block = None
        lines.append(Line(start, end, here, before, block, glued, marker))
        start = end
    return lines


def _block_of(code: CodeBlock) -> Block:
    # It reopens outside its quotes and lists: the next piece does not begin with their first lines.
    return Block(code.run + code.language + "\n", code)


def _with_next(text: str) -> Iterator[tuple[str, str]]:
    return pairwise([*re.findall(r"[^\n]*\n|[^\n]+", text), ""])


def _is_table_head(line: str, following: str) -> bool:
    return "|" in line and bool(_RULE.match(following)) and _cells(line) == _cells(following)


def _cells(row: str) -> int:
    return len(re.findall(r"(?<!\\)\|", row.strip(" \t\n>").strip("|"))) + 1
