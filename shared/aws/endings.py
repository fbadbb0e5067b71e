"""A handoff ends: its last write and its session's, at once or not at all."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.aws.tables import Tables, handoff_key, meta_key, route_key
from shared.aws.writes import Check, Condition, Refusal, Update, Write, absent, differs, either, equals, transact
from shared.domain.handoffs import Handoff
from shared.domain.routes import cli_place
from shared.errors import Conflict


def end(
    tables: Tables,
    handoff: Handoff,
    holds: Sequence[Condition],
    ended: Mapping[str, Any],
    *,
    now: int,
    back: bool = False,
    first: Mapping[str, Any] | None = None,
) -> bool:
    """End a handoff and settle its session, at once or not at all. Raises Conflict if the session changed meanwhile."""
    last = Update(tables.handoffs, handoff_key(handoff.id), when=holds, set=ended, first=first or {})
    session = _give_back(tables, handoff, now) if back else [_free(tables, handoff, now)]
    try:
        transact(tables.client, [last, *session])
    except Refusal as refusal:
        if refusal.items[0] is not None:
            return False
        _end_alone(tables, handoff, last)
    return True


def _end_alone(tables: Tables, handoff: Handoff, end: Update) -> None:
    """End a handoff whose session is deleted or no longer its own, lest the sweep look after it for ever."""
    not_its_own = either(absent("active_handoff"), differs("active_handoff", handoff.id))
    try:
        transact(tables.client, [end, Check(tables.sessions, meta_key(handoff.session_id), [not_its_own])])
    except Refusal:
        raise Conflict(f"session {handoff.session_id} changed meanwhile") from None


def _free(tables: Tables, handoff: Handoff, now: int) -> Update:
    """The session is no longer on its way."""
    return Update(
        tables.sessions,
        meta_key(handoff.session_id),
        when=[equals("active_handoff", handoff.id)],
        set={"active_handoff": None, "updated_at": now},
        add={"version": 1},
    )


def _give_back(tables: Tables, handoff: Handoff, now: int) -> Sequence[Write]:
    """The session back where it came from, ending a turn in the thread; one that has moved on stays where it is.

    Where another session has come to its old place meanwhile, it goes back to its terminal.
    """
    meta = tables.get(tables.sessions, meta_key(handoff.session_id))
    if meta is None or meta["epoch"] != handoff.bound_epoch:
        return [_free(tables, handoff, now)]
    pointer = tables.get(tables.sessions, route_key(handoff.origin))
    still_its_own = pointer if pointer and pointer["session_id"] == handoff.session_id else None
    home = handoff.origin if still_its_own else cli_place(handoff.session_id)
    back = Update(
        tables.sessions,
        meta_key(handoff.session_id),
        when=[equals("active_handoff", handoff.id), equals("epoch", handoff.bound_epoch)],
        set={
            "owner": home.route,
            "link": still_its_own.get("link") if still_its_own else None,
            "updated_at": now,
            **dict.fromkeys(("active_handoff", "turn_id", "turn_lease_until")),
        },
        add={"version": 1, "epoch": 1},
    )
    not_taken_since = Check(tables.sessions, route_key(home), [equals("session_id", handoff.session_id)])
    return [back, not_taken_since] if still_its_own else [back]
