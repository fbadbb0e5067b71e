"""The newest list that each user was shown at a place."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shared.domain.lists import Entry, EntryKind, Listed
from shared.domain.routes import Place
from shared.ports.conditions import absent, at_most, either
from shared.ports.tables import ConditionFailed, Put, Table, Tables
from shared.store.keys import list_key
from shared.store.values import list_at, text_at, time_at
from shared.store.versions import is_newer, not_newer, stamped

KEEP_SECONDS = 24 * 3600
_NAMES = ("id", "runner_id", "agent", "title", "note")


class Lists:
    """One item for each user and place: the newest list wins, so that a number means what was shown last."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put(self, listed: Listed) -> bool:
        """Replace an older list; False if a newer one is stored. Safe to repeat."""
        item = {
            **list_key(listed.user_id, listed.place),
            "id": listed.id,
            "created_at": listed.created_at,
            "entries": [asdict(entry) for entry in listed.entries],
            "expires_at": listed.created_at // 1000 + KEEP_SECONDS,
        }
        older = either(absent("pk"), at_most("created_at", listed.created_at))
        try:
            self._tables.put(Put(Table.SESSIONS, stamped(item), [not_newer(), older]))
        except ConditionFailed:
            return False
        return True

    def at(self, user_id: str, place: Place) -> Listed | None:
        """The list that the user was shown last at a place; None if there is none, or this version cannot read it."""
        item = self._tables.get(Table.SESSIONS, list_key(user_id, place))
        if not item or is_newer(item):
            return None
        entries = [_entry_of(value) for value in list_at(item, "entries") if isinstance(value, Mapping)]
        known = tuple(entry for entry in entries if entry is not None)
        if len(known) < len(list_at(item, "entries")):
            return None  # its numbers would name others
        return Listed(text_at(item, "id", ""), user_id, place, time_at(item, "created_at"), known)


def _entry_of(value: Mapping[str, Any]) -> Entry | None:
    kind = text_at(value, "kind", "")
    if kind not in tuple(EntryKind):
        return None
    return Entry(EntryKind(kind), *(text_at(value, name, "") for name in _NAMES))
