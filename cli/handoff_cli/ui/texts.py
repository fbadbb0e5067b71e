"""Texts made fit to be shown: nobody's words can drive a terminal, and every value can be written."""

import json
from typing import Any

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_KEPT_CONTROLS = "\n\t"


def clean(text: str) -> str:
    """The text without control characters, so that nobody's message can drive this terminal."""
    return "".join(c for c in text if c in _KEPT_CONTROLS or (c.isprintable() or ord(c) > 0x9F))


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """JSON for a person and a program; escaped only where it could not be written otherwise."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    return text + "\n"


def one_line(text: str, width: int = 0) -> str:
    """The text on one line, cut to `width` if given."""
    line = " ".join(clean(text).split())
    return line if not width or len(line) <= width else line[: width - 1].rstrip() + "…"


def clean_styled(text: str) -> str:
    """Like `clean`, but keeps the escape sequences that `style` made."""
    parts = text.split("\x1b[")
    kept = [clean(parts[0])]
    for part in parts[1:]:
        head, mark, rest = part.partition("m")
        kept.append(f"\x1b[{head}m{clean(rest)}" if mark and head in {"0", *STYLES.values()} else clean(part))
    return "".join(kept)
