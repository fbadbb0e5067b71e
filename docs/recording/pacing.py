"""How long each frame is seen: by what it shows, not by how long this machine took, so that a second recording is equal."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from docs.recording.frames import Frame, Line
from docs.recording.terminal import Kept

KEY, LINE, PULSE = 42, 45, 100
_TURNS = 8
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_THINKING = " thinking, "
_SLOW_LINES = (
    (re.compile("✓"), 380),  # a step of the handoff: people watch these
    (re.compile("^All .* arrived"), 700),
    (re.compile("[█▀▄]"), 22),
)


def paced(kept: Iterable[Kept]) -> Iterator[tuple[int, Frame]]:
    """Milliseconds and frame, in order. Waiting is cut: a spinner turns so often and no more, other signs of life go."""
    for pulses, run in groupby(kept, key=lambda one: one.reason == "pulse"):
        if pulses:
            yield from _spin(next(run).frame)
            continue
        for one in run:
            yield (KEY if one.reason == "key" else _line_time(one.frame)) + one.rest, one.frame


def _spin(frame: Frame) -> Iterator[tuple[int, Frame]]:
    if frame.says(_THINKING):
        for glyph in _SPINNER[:_TURNS]:
            yield PULSE, replace(frame, lines=tuple(_turned(line, glyph) for line in frame.lines))


def _turned(line: Line, glyph: str) -> Line:
    return tuple(replace(span, text=glyph + span.text[1:]) if _THINKING in span.text else span for span in line)


def _line_time(frame: Frame) -> int:
    """By the line that was just written: the one above the cursor."""
    row = frame.cursor[0] - frame.top - 1 if frame.cursor else 0
    text = "".join(span.text for span in frame.lines[max(0, row)])
    return next((time for pattern, time in _SLOW_LINES if pattern.search(text)), LINE)
