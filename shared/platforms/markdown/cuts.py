"""Finds the best place to cut a text: between paragraphs, lines, sentences, words, and as a last resort letters."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.platforms.markdown.blocks import Block, Line
from shared.platforms.markdown.code_blocks import CodeBlock

Measure = Callable[[str], int]

_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]")
_WORD = re.compile(r"\s+")
# Text that would become a heading, a list, a quote, a table or a code block at the start of a message.
_MARKUP = re.compile(r"[ \t]*(?:[-+*#>|=`~]|\d{1,9}[.)])")
_ZWJ = "\u200d"


@dataclass(frozen=True)
class Cut:
    """The end of a piece, and the block that the cut divides."""

    end: int
    block: Block | None


def next_cut(text: str, start: int, room: int, measure: Measure, lines: Sequence[Line]) -> Cut:
    """The best place to end a piece that begins at `start` and may measure `room`, with what closes its block.

    `measure` must add up over concatenation, and be at least the number of characters.
    """
    if len(text) - start <= room and measure(text[start:]) <= room:
        return Cut(len(text), None)
    window = _Window(text, start, room, measure, lines)
    half, quarter = start + (window.end - start) // 2, start + (window.end - start) // 4
    choices: tuple[Callable[[], Cut | None], ...] = (
        lambda: window.last_line(half, lambda line: line.after is None and _ends_paragraph(text, line)),
        lambda: window.last_line(quarter, lambda line: line.after is None),
        lambda: window.last_line(quarter, lambda _: True),
        lambda: window.last_match(_SENTENCE, half),
        lambda: window.last_match(_WORD, half),
        lambda: window.last_line(start, lambda _: True),
        lambda: window.last_match(_WORD, start),
        window.last_letter,
    )
    return next(cut for choice in choices if (cut := choice()) is not None)


class _Window:
    """The range of text that a piece may take."""

    def __init__(self, text: str, start: int, room: int, measure: Measure, lines: Sequence[Line]) -> None:
        self.text, self.start, self.room, self.measure = text, start, room, measure
        first = bisect_right(lines, start, key=lambda line: line.start) - 1
        self.end = self._reach(room)
        last = bisect_right(lines, self.end, key=lambda line: line.start)
        self.lines = lines[first:last]
        self._reaches = {0: self.end}

    def last_line(self, floor: int, fits: Callable[[Line], bool]) -> Cut | None:
        for line in reversed(self.lines):
            if line.end <= floor:
                return None
            if not line.glued and fits(line) and self._has_room(line.end, line.after):
                return Cut(line.end, line.after)
        return None

    def last_match(self, pattern: re.Pattern[str], floor: int) -> Cut | None:
        ends = [match.end() for match in pattern.finditer(self.text, self.start, self.end)]
        for end in reversed(ends):
            if end <= floor:
                return None
            line = self._line_at(end)
            if not _MARKUP.match(self.text, end) and self._may_cut(line, end) and self._has_room(end, line.before):
                return Cut(end, line.before)
        return None

    def last_letter(self) -> Cut:
        for end in range(self.end, self.start, -1):
            line = self._line_at(end)
            if self._may_cut(line, end) and self._has_room(end, line.before):
                return Cut(end, line.before)
        block = self._line_at(self.start).before  # one letter with its marks is over the room, so it has to be divided
        return Cut(self._reach(self.room - _closing(block, self.measure)), block)

    def _line_at(self, position: int) -> Line:
        return self.lines[bisect_right(self.lines, position, key=lambda line: line.start) - 1]

    def _may_cut(self, line: Line, end: int) -> bool:
        """Whether a cut inside this line leaves letters whole, and neither half of the line turns into a code block."""
        return not (
            line.marker
            or end <= line.start
            or splits_letter(self.text, end)
            or CodeBlock.opened_by(self.text, end)
            or CodeBlock.opened_by(self.text[max(line.start, self.start) : end])
        )

    def _has_room(self, end: int, block: Block | None) -> bool:
        closing = _closing(block, self.measure)
        if closing not in self._reaches:
            self._reaches[closing] = self._reach(self.room - closing)
        return end <= self._reaches[closing]

    def _reach(self, room: int) -> int:
        low, high = self.start, min(len(self.text), self.start + max(room, 1))
        while low < high:
            middle = (low + high + 1) // 2
            if self.measure(self.text[self.start : middle]) <= room:
                low = middle
            else:
                high = middle - 1
        return max(low, self.start + 1)


def _closing(block: Block | None, measure: Measure) -> int:
    return measure("\n" + block.closer) if block is not None and block.closer else 0


def _ends_paragraph(text: str, line: Line) -> bool:
    return line.before is not None or not line.text.strip() or text[line.end : line.end + 1] == "\n"


def splits_letter(text: str, at: int) -> bool:
    """Whether a cut there would divide one visible letter: combining marks, joined emoji, flags."""
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    return (
        _ZWJ in (left, right)
        or unicodedata.category(right).startswith("M")
        or "\U0001f3fb" <= right <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= right <= "\U000e007f"  # tags, as in the flag of Wales
        or ("\u1160" <= right <= "\u11ff" and "\u1100" <= left <= "\u11ff")  # Hangul in parts
        or (left == "\r" and right == "\n")
        or (_is_flag(left) and _is_flag(right) and _flags_before(text, at) % 2 == 1)
    )


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    start = at
    while start > 0 and _is_flag(text[start - 1]):
        start -= 1
    return at - start
