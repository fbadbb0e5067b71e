"""The request of a handoff: the new item and the mark on its session, in one transaction."""

from shared.domain.handoffs import Handoff
from shared.domain.orders import Order
from shared.errors import Conflict, HandoffInFlight, IdempotencyKeyReused, Moved, SessionBusy, UnknownSession
from shared.ports.conditions import absent, equals
from shared.ports.tables import Check, ConditionFailed, Item, Put, Table, Tables, Update
from shared.store.handoff_items import handoff_of, item_of
from shared.store.keys import inbox_key, meta_key
from shared.store.orders import writes_of_request
from shared.store.session_items import readable_session
from shared.store.transitions import NUDGE_AFTER, no_live_turn, not_claimed


def request(tables: Tables, handoff: Handoff, *, now: int, order: Order | None = None) -> Handoff:
    """Write a pending handoff, or return the one that the same request wrote before.

    A command in a chat that was closed since (`/stop`) asks for nothing any more: Conflict. With an order: while that is
    taken as it was read, has stored this session and has requested no other handoff, it is done with this one; else Conflict.
    """
    new = Put(
        Table.HANDOFFS,
        item_of(handoff, due_at=min(now + NUDGE_AFTER, handoff.deadline)),
        [absent("handoff_id")],
    )
    mark_session = Update(
        Table.SESSIONS,
        meta_key(handoff.session_id),
        when=[
            equals("user_id", handoff.user_id),
            equals("epoch", handoff.request_epoch),
            absent("active_handoff"),
            no_live_turn(now) if handoff.origin.is_cli else not_claimed(now),
        ],
        # A turn of a chat that no executor works on is withdrawn; its rows are answered with where the session went.
        set={"active_handoff": handoff.id, "updated_at": now, "turn": None},
        add={"version": 1},
    )
    said = [] if handoff.command is None else [_not_closed(handoff, handoff.command)]
    try:
        tables.transact([new, mark_session, *said, *(writes_of_request(order, handoff) if order else [])])
    except ConditionFailed as failed:
        return _explain(handoff, *failed.items[:2])
    return handoff


def _not_closed(handoff: Handoff, command: str) -> Check:
    return Check(Table.SESSIONS, inbox_key(handoff.command_place, command), [equals("status", "new")])


def _explain(handoff: Handoff, earlier: Item | None, meta: Item | None) -> Handoff:
    """Raise the reason of a failed request; an earlier request with the same key comes first.

    None instead of an item: its conditions hold.
    """
    if earlier:
        if earlier["body_hash"] != handoff.body_hash or earlier["user_id"] != handoff.user_id:
            raise IdempotencyKeyReused
        return handoff_of(earlier)
    if meta is None:
        raise Conflict("the command or the order that asks for it is over")
    if not meta or meta["user_id"] != handoff.user_id:
        raise UnknownSession(handoff.session_id)
    if meta["epoch"] != handoff.request_epoch:
        raise Moved(session) if (session := readable_session(meta)) else UnknownSession(handoff.session_id)
    if meta.get("active_handoff") == handoff.id:
        raise Conflict("the same request is being written right now")
    if "active_handoff" in meta:
        raise HandoffInFlight(handoff.session_id, meta["active_handoff"])
    raise SessionBusy(handoff.session_id)
