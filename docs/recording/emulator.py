"""A terminal without a window: bytes of a program in, frames out."""

from itertools import groupby

import pyte
import pyte.screens

from docs.recording.frames import Frame, Line, Span, Style

_HISTORY = 1000
_BRACKETED_PASTE = 2004 << 5  # as pyte counts private modes
_DIM, _BRIGHT_BLACK, _EXTENDED = 2, 90, {38, 48}


class _Screen(pyte.HistoryScreen):
    def select_graphic_rendition(self, *codes: int, **more: bool) -> None:
        """Dim text is drawn grey: pyte knows no dim."""
        known = codes if _EXTENDED & set(codes) else [_BRIGHT_BLACK if code == _DIM else code for code in codes]
        super().select_graphic_rendition(*known, **more)


class Emulator:
    """Understands what a program writes, as xterm would."""

    def __init__(self, columns: int, rows: int) -> None:
        self._screen = _Screen(columns, rows, history=_HISTORY)
        self._stream = pyte.Stream(self._screen)

    def feed(self, text: str) -> None:
        self._stream.feed(text)

    def frame(self) -> Frame:
        screen = self._screen
        top = len(screen.history.top)
        cursor = None if screen.cursor.hidden else (top + screen.cursor.y, screen.cursor.x)
        return Frame(top, tuple(self._line(row) for row in range(screen.lines)), cursor)

    @property
    def before_cursor(self) -> str:
        """The cursor's line up to the cursor."""
        row = self._screen.buffer[self._screen.cursor.y]
        return "".join(row[column].data for column in range(self._screen.cursor.x))

    @property
    def reads_keys(self) -> bool:
        """Has the program switched on what a prompt switches on when it is ready?"""
        return _BRACKETED_PASTE in self._screen.mode

    def _line(self, row: int) -> Line:
        cells = [self._screen.buffer[row][column] for column in range(self._screen.columns)]
        spans, column = [], 0
        for style, run in groupby(cells, key=_style):
            text = "".join(cell.data for cell in run)
            if text.strip() or style.background != "default":
                spans.append(Span(column, text, style))
            column += len(text)
        return tuple(spans)


def _style(cell: pyte.screens.Char) -> Style:
    colour, background = (cell.bg, cell.fg) if cell.reverse else (cell.fg, cell.bg)
    return Style(colour, background, bold=cell.bold, italic=cell.italics, underlined=cell.underscore)
