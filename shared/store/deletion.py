"""Everything that belongs to a session, deleted."""

import contextlib
from collections.abc import Iterator

from shared.domain.routes import Place, place_of
from shared.domain.sessions import Session
from shared.ports.conditions import equals
from shared.ports.tables import ConditionFailed, Delete, Item, Table, Tables
from shared.store.handoff_queries import pages_by_user
from shared.store.keys import handoff_key, inbox_partition, route_key, session_partition


def delete_contents(tables: Tables, session: Session) -> None:
    """Delete all items of a session except META. Safe to repeat."""
    children = [row for row in tables.query(session_partition(session.id), low="A", high="Z") if row["sk"] != "META"]
    routes = [place_of(row["sk"].removeprefix("ROUTE#")) for row in children if row["sk"].startswith("ROUTE#")]
    inbox = [row for place in (*routes, session.cli) for row in _inbox_rows(tables, place, session)]
    for place in routes:
        with contextlib.suppress(ConditionFailed):  # the route points to another session by now
            tables.delete(Delete(Table.SESSIONS, route_key(place), [equals("session_id", session.id)]))
    tables.delete_all(Table.SESSIONS, [Table.SESSIONS.key_of(row) for row in (*inbox, *children)])
    _delete_handoffs(tables, session)


def _inbox_rows(tables: Tables, place: Place, session: Session) -> Iterator[Item]:
    """The session's rows at a place; where another session lives by now, only those that this session answered."""
    pointer = None if place == session.cli else tables.get(Table.SESSIONS, route_key(place))
    everything = pointer is None or pointer["session_id"] == session.id
    for row in tables.query(inbox_partition(place), low=" ", high="\U0010ffff"):
        if everything or row.get("done_by", "").startswith(f"{session.id}/"):
            yield row


def _delete_handoffs(tables: Tables, session: Session) -> None:
    ids = {key["handoff_id"] for page in pages_by_user(tables, session.user_id) for key in page}
    if session.active_handoff:
        ids.add(session.active_handoff)  # the index may not have it yet
    for item in tables.get_many(Table.HANDOFFS, [handoff_key(handoff_id) for handoff_id in ids]):
        if item["session_id"] == session.id:
            tables.delete(Delete(Table.HANDOFFS, handoff_key(item["handoff_id"])))
