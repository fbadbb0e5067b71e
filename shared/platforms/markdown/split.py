"""Splits Markdown into pieces within a limit: nothing is lost, every code block is closed and reopened."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.platforms.markdown.blocks import Block, Line, scan
from shared.platforms.markdown.code_blocks import CodeBlock, well_formed, without_containers
from shared.platforms.markdown.cuts import Measure, next_cut

# With a smaller limit, a code block repeated around a piece would leave no room for text.
SMALLEST_LIMIT = 256
_LEADING_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")


@dataclass(frozen=True)
class Piece:
    """A range of the text, `body`, and the message made of it: `text`, with its block reopened and closed."""

    body: str
    text: str


def utf16(text: str) -> int:
    """The length of a text in UTF-16 code units, as Telegram counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def split(text: str, limit: int, measure: Measure = len) -> list[str]:
    """Split Markdown into messages of at most `limit`, as `measure` counts. Pure; a blank text makes no message.

    It cuts between paragraphs where it can, else between lines, sentences, words, and only at last inside a word.
    Blank lines around a cut go, all else stays: a code block that is cut through is closed and opened again with its
    language, a table's head is repeated, a code block that the text leaves open is closed.
    """
    return [piece.text for piece in pieces(text, limit, measure) if piece.text.strip()]


def pieces(text: str, limit: int, measure: Measure = len) -> list[Piece]:
    """The pieces behind `split`; their bodies, joined, are the (well-formed) text. `measure` must add up."""
    if limit < SMALLEST_LIMIT:
        raise ValueError(f"a limit of at least {SMALLEST_LIMIT} is needed, not {limit}")
    text = well_formed(text, limit // 8)
    return list(_pieces(text, limit, measure, scan(text, limit // 4)))


def _pieces(text: str, limit: int, measure: Measure, lines: Sequence[Line]) -> Iterator[Piece]:
    start = 0
    opened: Block | None = None
    while start < len(text):
        cut = next_cut(text, start, limit - measure(opened.opener if opened else ""), measure, lines)
        body = text[start : cut.end]
        sent = body.rstrip() if cut.block is None else body
        if opened is None:
            sent = _LEADING_BLANK_LINES.sub("", sent)
        else:
            sent = opened.opener + _taken_out(sent, opened.code, mid_line=start > 0 and text[start - 1] != "\n")
        if cut.block is not None and cut.block.code is not None:
            closer = cut.block.code.run if cut.block is opened else cut.block.closer
            sent += closer if sent.endswith("\n") else "\n" + closer
        yield Piece(body, sent)
        start, opened = cut.end, cut.block


def _taken_out(body: str, code: CodeBlock | None, *, mid_line: bool) -> str:
    """The rest of a code block without the quotes and lists that it stood in, and all that follows it as it is."""
    if code is None or not code.containers:
        return body
    lines = body.split("\n")
    for number, line in enumerate(lines):
        if number or not mid_line:
            lines[number] = without_containers(line, code.containers)
        if code.closed_by(line):
            break
    return "\n".join(lines)
