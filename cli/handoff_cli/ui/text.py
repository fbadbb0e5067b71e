"""Make text safe and fit for a terminal: no control characters, one line, aligned columns, writable JSON."""

import json
from collections.abc import Sequence
from typing import Any

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_KEPT_CONTROLS = "\n\t"


def clean(text: str) -> str:
    """The text without control characters, so that a message cannot send escape sequences to the terminal."""
    return "".join(c for c in text if c in _KEPT_CONTROLS or (c.isprintable() or ord(c) > 0x9F))


def clean_styled(text: str) -> str:
    """Like `clean`, but keeps the escape sequences of `Terminal.style`."""
    parts = text.split("\x1b[")
    kept = [clean(parts[0])]
    for part in parts[1:]:
        head, mark, rest = part.partition("m")
        kept.append(f"\x1b[{head}m{clean(rest)}" if mark and head in {"0", *STYLES.values()} else clean(part))
    return "".join(kept)


def one_line(text: str, width: int = 0) -> str:
    """The text on one line, cut to `width` characters if given."""
    line = " ".join(clean(text).split())
    return line if not width or len(line) <= width else line[: width - 1].rstrip() + "…"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line per row, each column as wide as its widest cell on the terminal."""
    from wcwidth import wcswidth  # noqa: PLC0415 - its tables take time to load

    widths = [[max(0, wcswidth(cell)) for cell in row] for row in rows]
    columns = [max(column) for column in zip(*widths, strict=True)]
    return [
        "  ".join(cell + " " * (column - width) for cell, width, column in zip(row, own, columns, strict=True)).rstrip()
        for row, own in zip(rows, widths, strict=True)
    ]


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """JSON with readable characters, escaped only if it could not be encoded otherwise."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    return text + "\n"
