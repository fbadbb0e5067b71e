"""Everything that belongs to a session or to a user, deleted."""

import contextlib
from collections.abc import Iterable, Iterator

from shared.domain.routes import Place, notices_at, place_of
from shared.domain.sessions import Session
from shared.ports.conditions import equals
from shared.ports.tables import ConditionFailed, Delete, Item, Table, Tables
from shared.store.handoff_queries import pages_by_user
from shared.store.keys import (
    FILE,
    OFFER,
    ORDER,
    RUNNER,
    handoff_key,
    inbox_partition,
    pointers_partition,
    route_key,
    session_partition,
    user_partition,
)
from shared.store.offers import offer_of, remove_pointer


def partition(tables: Tables, pk: str) -> Iterator[Item]:
    """All items of a partition."""
    return tables.query(pk, low=" ", high="\U0010ffff")


def delete_contents(tables: Tables, session: Session, *, with_files: bool) -> None:
    """Delete all items of a session except META and its handoffs. Its files count for their user. Safe to repeat."""
    everything = tables.query(session_partition(session.id), low="A", high="Z")
    children = [row for row in everything if row["sk"] != "META" and (with_files or not row["sk"].startswith(FILE))]
    routes = [place_of(row["sk"].removeprefix("ROUTE#")) for row in children if row["sk"].startswith("ROUTE#")]
    rows = [row for place in (*routes, session.cli) for row in _rows_at(tables, place, session)]
    for place in routes:
        with contextlib.suppress(ConditionFailed):  # the route points to another session by now
            tables.delete(Delete(Table.SESSIONS, route_key(place), [equals("session_id", session.id)]))
    for offer in filter(None, (offer_of(row) for row in children if row["sk"].startswith(OFFER))):
        remove_pointer(tables, offer)
    orders = [order for order in _orders(tables, session.user_id) if session.id in _sessions_of(order)]
    _delete(tables, (*rows, *orders, *children))


def _sessions_of(order: Item) -> tuple[str, str]:
    return order.get("session_id", ""), order.get("made", "")


def delete_orders(tables: Tables, user_id: str) -> None:
    """Delete all orders to a user's runners. Safe to repeat, as long as the runners are known."""
    _delete(tables, _orders(tables, user_id))


def _orders(tables: Tables, user_id: str) -> Iterator[Item]:
    for runner in tables.query(user_partition(user_id), low=RUNNER):
        yield from tables.query(pointers_partition(user_id, runner["sk"].removeprefix(RUNNER)), low=ORDER)


def delete_traces(tables: Tables, user_id: str, place: Place) -> None:
    """Delete a user's inbox rows at a place, and the journal of the notices there."""
    rows = [row for row in partition(tables, inbox_partition(place)) if row.get("user") == user_id]
    _delete(tables, (*rows, *_notices(tables, place)))


def delete_handoffs(tables: Tables, user_id: str, *, session: Session | None = None) -> None:
    """Delete a user's handoffs, or only those of one session."""
    ids = {key["handoff_id"] for page in pages_by_user(tables, user_id) for key in page}
    if session is not None and session.active_handoff:
        ids.add(session.active_handoff)  # the index may not have it yet
    for item in tables.get_many(Table.HANDOFFS, [handoff_key(handoff_id) for handoff_id in ids]):
        if item["user_id"] == user_id and (session is None or item["session_id"] == session.id):
            tables.delete(Delete(Table.HANDOFFS, handoff_key(item["handoff_id"])))


def _rows_at(tables: Tables, place: Place, session: Session) -> Iterator[Item]:
    """The session's inbox rows and notices at a place; where another session lives by now, only rows that it answered."""
    pointer = None if place == session.cli else tables.get(Table.SESSIONS, route_key(place))
    everything = pointer is None or pointer["session_id"] == session.id
    for row in partition(tables, inbox_partition(place)):
        if everything or row.get("done_by", "").startswith(f"{session.id}/"):
            yield row
    if everything:
        yield from _notices(tables, place)


def _notices(tables: Tables, place: Place) -> Iterator[Item]:
    return tables.query(session_partition(notices_at(place)), low="OUT#")


def _delete(tables: Tables, rows: Iterable[Item]) -> None:
    tables.delete_all(Table.SESSIONS, [Table.SESSIONS.key_of(row) for row in rows])
