"""Draw a link as a QR code."""

import shutil

from handoff_cli.config.sources import is_loopback
from handoff_cli.ui.terminal import Terminal

_BLOCKS = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
_QUIET = 2
# Black on white in every theme: phones cannot read inverted codes.
_PAPER, _PLAIN = "\x1b[30;107m", "\x1b[0m"


def show_code(terminal: Terminal, link: str) -> None:
    """Draw the code if it fits, the terminal can show blocks, and a phone could open the link."""
    if terminal.can_draw and not is_loopback(link) and (lines := code(link, shutil.get_terminal_size())):
        paper, plain = (_PAPER, _PLAIN) if terminal.colour else ("", "")
        terminal.block("".join(f"{paper}{line}{plain}\n" for line in lines))


def code(link: str, room: tuple[int, int]) -> list[str]:
    """The code in lines of half blocks; empty if it does not fit."""
    import segno  # noqa: PLC0415 - slow to import

    rows = [list(map(bool, row)) for row in segno.make_qr(link, error="l").matrix_iter(border=_QUIET)]
    columns, lines = room
    if len(rows[0]) > columns or (len(rows) + 1) // 2 > lines - 2:
        return []
    if len(rows) % 2:
        rows.append([False] * len(rows[0]))
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(_BLOCKS[above, below] for above, below in zip(*pair, strict=True)) for pair in pairs]
