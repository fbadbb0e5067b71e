"""Random ids become ids that are the same in every recording; what belongs to one machine must not be seen at all."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace

from docs.recording.frames import Frame, Line

_ID = re.compile(r"\b[0-9a-f]{12,64}\b")
_SHORTEST = 12


class StableIds:
    """The n-th id that is seen becomes the same one each time, as long as it was; its beginning alone is the same id."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def text(self, text: str) -> str:
        return _ID.sub(lambda found: self._stable(found[0]), text)

    def frame(self, frame: Frame) -> Frame:
        """Its lines side by side are one text, in which an id is whole even where the terminal broke it."""
        width = max((span.column + len(span.text) for line in frame.lines for span in line), default=0)
        text = self.text("".join(map("".join, (_cells(line, width) for line in frame.lines))))
        lines = (_with_text(line, text[row * width :]) for row, line in enumerate(frame.lines))
        return replace(frame, lines=tuple(lines))

    def _stable(self, shown: str) -> str:
        number = len(self._known) + 1
        known = self._known.setdefault(shown[:_SHORTEST], hashlib.sha256(f"id {number}".encode()).hexdigest())
        return known[: len(shown)]


def _cells(line: Line, width: int) -> list[str]:
    cells = [" "] * width
    for span in line:
        cells[span.column : span.column + len(span.text)] = span.text
    return cells


def _with_text(line: Line, text: str) -> Line:
    return tuple(replace(span, text=text[span.column : span.column + len(span.text)]) for span in line)


def refuse_leaks(picture: str, private: Iterable[str]) -> None:
    """Raises ValueError, without repeating it, if something private is in the picture."""
    if found := sum(1 for words in private if words and words in picture):
        raise ValueError(f"{found} of this machine's details are in the picture; nothing was written")
