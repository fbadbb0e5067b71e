"""Entries that installed distributions add to a list: entry points."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def with_added(listed: Iterable[T], group: str, *, name: Callable[[T], str]) -> tuple[T, ...]:
    """The listed entries, then those of the entry points in this group, in the order of their names.

    Raises ValueError for two entries of one name, and what a distribution raises when it is imported.
    """
    entries = {name(entry): entry for entry in listed}
    for point in _entry_points(group):
        entry: T = point.load()
        if name(entry) in entries:
            raise ValueError(f"The entry point {point.name} in {group} adds {name(entry)}, which there is already")
        entries[name(entry)] = entry
    return tuple(entries.values())


def _entry_points(group: str) -> Iterable[Any]:
    if not _is_declared(group):
        return ()
    from importlib.metadata import entry_points  # noqa: PLC0415  # takes longer than all else here

    return sorted(entry_points(group=group), key=lambda point: point.name)


def _is_declared(group: str) -> bool:
    """Whether any distribution has such entry points. Most services have none, and look only at these small files."""
    declarations = (file for folder in sys.path for file in Path(folder).glob("*.dist-info/entry_points.txt"))
    return any(f"[{group}]" in file.read_text("utf-8", "replace") for file in declarations)
