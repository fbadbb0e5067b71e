"""The inbox: one row per inbound event."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.routes import Place, place_of
from shared.ports.conditions import absent, equals, present
from shared.ports.tables import ConditionFailed, Item, Put, Table, Tables, Update
from shared.store.keys import inbox_key, inbox_partition
from shared.store.versions import is_newer, stamped

KEEP_SECONDS = 30 * 24 * 3600
"""Longer than a queue keeps a message (14 days at most): a late redelivery still finds its row done."""
_LOOK_BEHIND = 100
STOPPED = "stopped"
"""The closer of a row that was said before `/stop`."""
DEAD = "dead letter"
"""The closer of a row whose every attempt failed."""


@dataclass(frozen=True)
class InboxRow:
    """One inbound event at a place, by a known user: new until a turn or a notice has answered it.

    `done_by` is `<session>/<turn>` for a turn, so that its delivery can be finished, else the name of what answered.
    `epoch` is the one at which a terminal's turn was accepted.
    `is_newer`: a newer version works on it, in a status that this one does not know.
    `private`: only the sender and the bot are in the chat.
    """

    place: Place
    event_id: str
    sender: str
    text: str
    received_at: int
    user_id: str
    done_by: str | None = None
    epoch: int | None = None
    is_newer: bool = False
    private: bool = False


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


class Inbox:
    """One row per inbound event; its key removes duplicates."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put(self, row: InboxRow) -> bool:
        """Write a new row; False if this event is already there."""
        try:
            self._tables.put(new_row(row))
        except ConditionFailed:
            return False
        return True

    def new(self, place: Place, *, limit: int) -> Sequence[InboxRow]:
        """Rows not yet answered, in the order in which they were written.

        Reads backwards until a page of rows was done, so that a long history costs nothing.

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
        """Mark rows as answered outside a turn's commit (by a notice or a command). Safe to repeat."""
        for row in rows:
            with contextlib.suppress(ConditionFailed):
                self._tables.update(close_row(row, by))
