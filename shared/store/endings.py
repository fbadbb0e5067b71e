"""The end of a handoff: its last write and its session's, in one transaction."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.domain.handoffs import Handoff
from shared.domain.routes import cli_place
from shared.errors import Conflict
from shared.ports.conditions import Condition, absent, differs, either, equals
from shared.ports.tables import Check, ConditionFailed, Table, Tables, Update, Write
from shared.store.keys import handoff_key, meta_key, route_key


def end(
    tables: Tables,
    handoff: Handoff,
    when: Sequence[Condition],
    ended: Mapping[str, Any],
    *,
    now: int,
    back: bool = False,
    first: Mapping[str, Any] | None = None,
    session_when: Sequence[Condition] = (),
) -> bool:
    """End a handoff and release its session; `back` also returns the session to where it came from.

    False if `when` does not hold. Raises Conflict if the session changed since it was read, or if it still has this
    handoff and `session_when` does not hold.
    """
    last = Update(Table.HANDOFFS, handoff_key(handoff.id), when=when, set=ended, first=first or {})
    session = _give_back(tables, handoff, now, session_when) if back else [_release(handoff, now)]
    try:
        tables.transact([last, *session])
    except ConditionFailed as failed:
        if failed.items[0] is not None:
            return False
        _end_alone(tables, handoff, last)
    return True


def _end_alone(tables: Tables, handoff: Handoff, last: Update) -> None:
    """End a handoff whose session is deleted or has another handoff. Otherwise the sweep would retry it for ever."""
    not_its_own = either(absent("active_handoff"), differs("active_handoff", handoff.id))
    try:
        tables.transact([last, Check(Table.SESSIONS, meta_key(handoff.session_id), [not_its_own])])
    except ConditionFailed:
        raise Conflict(f"session {handoff.session_id} changed since it was read") from None


def _release(handoff: Handoff, now: int) -> Update:
    return Update(
        Table.SESSIONS,
        meta_key(handoff.session_id),
        when=[equals("active_handoff", handoff.id)],
        set={"active_handoff": None, "updated_at": now},
        add={"version": 1},
    )


def _give_back(tables: Tables, handoff: Handoff, now: int, when: Sequence[Condition]) -> Sequence[Write]:
    """Move the session back and end a turn in the thread; a session that has moved since only is released.

    It returns to its terminal if another session has taken its previous place.
    """
    meta = tables.get(Table.SESSIONS, meta_key(handoff.session_id))
    if meta is None or handoff.bound_epoch is None or meta["epoch"] != handoff.bound_epoch:
        return [_release(handoff, now)]
    pointer = tables.get(Table.SESSIONS, route_key(handoff.origin))
    still_its_own = pointer if pointer and pointer["session_id"] == handoff.session_id else None
    home = handoff.origin if still_its_own else cli_place(handoff.session_id)
    back = Update(
        Table.SESSIONS,
        meta_key(handoff.session_id),
        when=[equals("active_handoff", handoff.id), equals("epoch", handoff.bound_epoch), *when],
        set={
            "owner": home.route,
            "link": still_its_own.get("link") if still_its_own else None,
            "updated_at": now,
            **dict.fromkeys(("active_handoff", "turn", "shared")),
        },
        add={"version": 1, "epoch": 1},
    )
    not_taken_since = Check(Table.SESSIONS, route_key(home), [equals("session_id", handoff.session_id)])
    return [back, not_taken_since] if still_its_own else [back]
