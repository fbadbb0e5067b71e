"""Draws terminals: each line once, seen for as long as it stood there, on a strip that scrolls."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from docs.recording.animation import Animation, Stop
from docs.recording.elements import add, add_text
from docs.recording.frames import COLUMNS, ROWS, Line, Span, Style, Take

CELL, LINE_HEIGHT, BASELINE = 7.5, 16.0, 12.0
BAR, PADDING = 34.0, 15.0
WIDTH = COLUMNS * CELL + 2 * PADDING
HEIGHT = BAR + ROWS * LINE_HEIGHT + 2 * PADDING - 6
_WORDS = re.compile(r"\S+(?: \S+)*")
_HALVES = ((re.compile("[█▀]+"), 0.0), (re.compile("[█▄]+"), 0.5))
_OVERLAP = 0.5  # no seam between two lines, at any size
_NOWHERE = -100.0


@dataclass(frozen=True)
class _Stood:
    """A line that stood at one place for some time."""

    row: int
    line: Line
    start: int
    end: int


def draw_terminal(parent: Element, take: Take, animation: Animation) -> None:
    """One terminal: title, lines, cursor."""
    start = take.shots[0].at
    title = add(parent, "text", take.title, x=WIDTH / 2, y=BAR / 2 + 4.5, class_="title")
    title.set("class", f"title {animation.seen(start, take.end)}")
    window = add(parent, "g", clip_path="url(#screen)")
    strip = add(window, "g", class_=animation.placed(_scrolling(take)))
    papers, letters = add(strip, "g"), add(strip, "g")
    for stood in _standing(take):
        seen = animation.seen(stood.start, stood.end)
        _draw_paper(papers, stood, seen)
        _draw_letters(letters, stood, seen)
    cursor = add(strip, "rect", width=CELL, height=LINE_HEIGHT - 2)
    cursor.set("class", f"cursor {animation.placed(_cursor(take))}")


def _standing(take: Take) -> Iterator[_Stood]:
    """Lines that have scrolled away stand where they are: nobody sees them any more."""
    now: dict[int, tuple[int, Line]] = {}
    for shot in take.shots:
        for row, line in enumerate(shot.frame.lines, start=shot.frame.top):
            since, old = now.get(row, (shot.at, ()))
            if old != line:
                if old:
                    yield _Stood(row, old, since, shot.at)
                now[row] = (shot.at, line)
    yield from (_Stood(row, line, since, take.end) for row, (since, line) in sorted(now.items()) if line)


def _scrolling(take: Take) -> list[Stop]:
    stops: list[Stop] = []
    for shot in take.shots:
        y = BAR + PADDING - 3 - shot.frame.top * LINE_HEIGHT
        if not stops or stops[-1][2] != y:
            stops.append((shot.at if stops else 0, PADDING, y))
    return stops


def _cursor(take: Take) -> list[Stop]:
    stops: list[Stop] = [(0, _NOWHERE, _NOWHERE)]
    for shot in take.shots:
        row, column = shot.frame.cursor or (None, 0)
        place = (_NOWHERE, _NOWHERE) if row is None else (column * CELL, row * LINE_HEIGHT + 1)
        if stops[-1][1:] != place:
            stops.append((shot.at, *place))
    return [*stops, (take.end, _NOWHERE, _NOWHERE)]


def _draw_paper(papers: Element, stood: _Stood, seen: str) -> None:
    """Below all letters, so that the paper of a line covers nothing of the line above."""
    for span in stood.line:
        if (colour := span.style.background) != "default":
            paper = add(papers, "rect", x=span.column * CELL, y=stood.row * LINE_HEIGHT - 2 * _OVERLAP)
            paper.set("width", f"{len(span.text) * CELL:g}")
            paper.set("height", f"{LINE_HEIGHT + 2 * _OVERLAP:g}")
            paper.set("class", f"b-{colour} {seen}")


def _draw_letters(letters: Element, stood: _Stood, seen: str) -> None:
    group = add(letters, "g", class_=seen)
    top = stood.row * LINE_HEIGHT
    for span in stood.line:
        left = span.column * CELL
        if path := _blocks(span, top):
            add(group, "path", d=path, class_=f"f-{span.style.colour}")
            continue
        for words in _WORDS.finditer(span.text):
            x, width = left + words.start() * CELL, len(words[0]) * CELL
            add_text(group, words[0], x=x, y=top + BASELINE, width=width, class_=_class(span.style))


def _blocks(span: Span, top: float) -> str:
    """Block characters as areas without seams, whatever the font; empty if there are other characters too."""
    if not set(span.text) <= set("█▀▄ "):
        return ""
    areas = []
    for half, start in _HALVES:
        y, height = top + start * LINE_HEIGHT - _OVERLAP, LINE_HEIGHT / 2 + _OVERLAP
        for run in half.finditer(span.text):
            x, width = (span.column + run.start()) * CELL, len(run[0]) * CELL
            areas.append(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z")
    return "".join(areas)


def _class(style: Style) -> str | None:
    marks = {"bold": style.bold, "italic": style.italic, "underlined": style.underlined}
    names = [name for name, on in marks.items() if on]
    if style.colour != "default":
        names.append(f"f-{style.colour}")
    return " ".join(names) or None
