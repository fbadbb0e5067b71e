"""What people said, in DynamoDB: one row per inbound event, its key the dedupe."""

from collections.abc import Sequence

from shared.aws.items import Item
from shared.aws.tables import Tables, inbox_key
from shared.aws.writes import Put, Refusal, Update, absent, equals, present, put, update
from shared.domain.routes import Place, place_of
from shared.ports.inbox import InboxRow

KEEP_SECONDS = 30 * 24 * 3600
"""Longer than the queue keeps a message (14 days at most): a late redelivery still finds its row done."""


def row_of(item: Item) -> InboxRow:
    """An inbox item as a row."""
    return InboxRow(
        place=place_of(item["pk"].removeprefix("INBOX#")),
        event_id=item["sk"],
        sender=item["sender"],
        text=item.get("text", ""),
        received_at=item["received_at"],
        user_id=item["user"],
        done_by=item.get("done_by"),
    )


def close_row(table: str, row: InboxRow, by: str) -> Update:
    """new → done, by whom."""
    return Update(
        table,
        inbox_key(row.place, row.event_id),
        when=[present("pk"), equals("status", "new")],
        set={"status": "done", "done_by": by, "text": None},  # it is in the transcript, or nobody's business any more
    )


class DynamoInbox:
    """The `Inbox` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put(self, row: InboxRow) -> bool:
        item = {
            **inbox_key(row.place, row.event_id),
            "sender": row.sender,
            "text": row.text,
            "received_at": row.received_at,
            "user": row.user_id,
            "status": "new",
            "expires_at": row.received_at // 1000 + KEEP_SECONDS,
        }
        try:
            put(self._tables.client, Put(self._tables.sessions, item, [absent("pk")]))
        except Refusal:
            return False
        return True

    def new(self, place: Place, *, limit: int) -> Sequence[InboxRow]:
        """Newest first until the rows are done, so that a long history costs nothing.

        A row is done only together with, or after, all that came before it, but a platform may deliver out of order:
        a page of done rows is read through before the search ends. What arrives later than that is known to its own
        wake-up alone.
        """
        found: list[InboxRow] = []
        done = 0
        rows = self._tables.query(f"INBOX#{place.route}", low=" ", high="\U0010ffff", backwards=True, page=_LOOK_BEHIND)
        for item in rows:
            if item["status"] == "new":
                found.append(row_of(item))
            else:
                done += 1
            if done >= _LOOK_BEHIND:
                break
        return list(reversed(found))[:limit]

    def get(self, place: Place, event_id: str) -> InboxRow | None:
        item = self._tables.get(self._tables.sessions, inbox_key(place, event_id))
        return row_of(item) if item else None

    def close(self, rows: Sequence[InboxRow], *, by: str) -> None:
        for row in rows:
            try:
                update(self._tables.client, close_row(self._tables.sessions, row, by))
            except Refusal:
                continue


_LOOK_BEHIND = 100
