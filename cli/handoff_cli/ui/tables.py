"""Rows in aligned columns."""

from collections.abc import Sequence
from unicodedata import combining, east_asian_width


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line per row, each column as wide as its widest cell."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _width(text: str) -> int:
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
