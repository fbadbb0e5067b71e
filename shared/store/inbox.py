"""The inbox: one row per inbound event."""

import contextlib
from collections.abc import Sequence

from shared.domain.routes import Place, place_of
from shared.ports.conditions import absent, equals, present
from shared.ports.inbox import InboxRow
from shared.ports.tables import ConditionFailed, Item, Put, Table, Tables, Update
from shared.store.keys import inbox_key, inbox_partition
from shared.store.versions import is_newer, stamped

KEEP_SECONDS = 30 * 24 * 3600
"""Longer than a queue keeps a message (14 days at most): a late redelivery still finds its row done."""
_LOOK_BEHIND = 100


def row_of(item: Item) -> InboxRow:
    """An inbox item as a row."""
    return InboxRow(
        place=place_of(item["pk"].removeprefix("INBOX#")),
        event_id=item["sk"],
        sender=item.get("sender", ""),
        text=item.get("text", ""),
        received_at=item.get("received_at", 0),
        user_id=item.get("user", ""),
        done_by=item.get("done_by"),
        epoch=item.get("epoch"),
        is_newer=is_newer(item) or item.get("status") not in ("new", "done"),
        private=bool(item.get("private")),
    )


def new_row(row: InboxRow) -> Put:
    """The write that adds a row that is not there yet."""
    item = {
        **inbox_key(row.place, row.event_id),
        "sender": row.sender,
        "text": row.text,
        "received_at": row.received_at,
        "user": row.user_id,
        "epoch": row.epoch,
        "private": row.private or None,
        "status": "new",
        "expires_at": row.received_at // 1000 + KEEP_SECONDS,
    }
    return Put(Table.SESSIONS, stamped(item), [absent("pk")])


def close_row(row: InboxRow, by: str) -> Update:
    """new → done. The text is removed: it is in the transcript, or was never meant for it."""
    return Update(
        Table.SESSIONS,
        inbox_key(row.place, row.event_id),
        when=[present("pk"), equals("status", "new")],
        set={"status": "done", "done_by": by, "text": None},
    )


class TableInbox:
    """The `Inbox` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put(self, row: InboxRow) -> bool:
        try:
            self._tables.put(new_row(row))
        except ConditionFailed:
            return False
        return True

    def new(self, place: Place, *, limit: int) -> Sequence[InboxRow]:
        """Reads backwards until a page of rows was done, so that a long history costs nothing.

        A row is done only together with, or after, all earlier rows, but a platform may deliver out of order. A row that
        arrives later than the page reaches is found by its own wake-up only.
        """
        found: list[InboxRow] = []
        done = 0
        rows = self._tables.query(inbox_partition(place), low=" ", high="\U0010ffff", backwards=True, page=_LOOK_BEHIND)
        for item in rows:
            if item.get("status") == "new" and not is_newer(item):
                found.append(row_of(item))
            else:
                done += 1
            if done >= _LOOK_BEHIND:
                break
        return list(reversed(found))[:limit]

    def get(self, place: Place, event_id: str) -> InboxRow | None:
        item = self._tables.get(Table.SESSIONS, inbox_key(place, event_id))
        return row_of(item) if item else None

    def close(self, rows: Sequence[InboxRow], *, by: str) -> None:
        for row in rows:
            with contextlib.suppress(ConditionFailed):
                self._tables.update(close_row(row, by))
