"""Entries that installed distributions add to a list: entry points."""

from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from typing import TypeVar

T = TypeVar("T")


def with_added(listed: Iterable[T], group: str, *, name: Callable[[T], str]) -> tuple[T, ...]:
    """The listed entries, then those of the entry points in this group, in the order of their names.

    Raises ValueError for two entries of one name, and what a distribution raises when it is imported.
    """
    entries = {name(entry): entry for entry in listed}
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        entry: T = point.load()
        if name(entry) in entries:
            raise ValueError(f"The entry point {point.name} in {group} adds {name(entry)}, which there is already")
        entries[name(entry)] = entry
    return tuple(entries.values())
