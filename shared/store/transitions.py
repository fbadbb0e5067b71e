"""Transitions of a handoff: the conditions on its item and on its session's, and the changes."""

from collections.abc import Mapping
from typing import Any

from shared.domain.handoffs import TRANSITIONS, Handoff, Reason, Receipt, Step
from shared.ports.conditions import Condition, absent, both, either, equals, holds, one_of
from shared.ports.tables import Item, Table, Update
from shared.store.handoff_items import reason_value, receipt_value
from shared.store.keys import handoff_key
from shared.store.session_items import CLAIMED, OFFERED
from shared.store.values import is_over
from shared.store.versions import not_newer

NUDGE_AFTER = 30_000
CONFIRMED_DUE_AFTER = 900_000
KEEP_SECONDS = 30 * 24 * 3600
NOT_DUE: Mapping[str, Any] = {"due_shard": None, "due_at": None}


def allowed(transition: str) -> Condition:
    """The states from which the domain's table allows this transition; never for an item of a newer version."""
    return both(not_newer(), one_of("state", sorted(state.value for state in TRANSITIONS[transition].sources)))


def allows(transition: str, item: Item | None) -> bool:
    """Whether `allowed` holds for an item as it was read."""
    return holds(allowed(transition), item or {})


def leads_to(transition: str) -> Mapping[str, str]:
    """The state that this transition writes; empty if the state stays."""
    target = TRANSITIONS[transition].target
    return {"state": target.value} if target else {}


def fence_is_mine(handoff: Handoff) -> Condition:
    return equals("fence", handoff.fence)


def unconfirmed() -> Condition:
    return absent("confirmed")


def not_bound() -> Condition:
    return absent("bound_epoch")


def bound_as_read(handoff: Handoff) -> Condition:
    return not_bound() if handoff.bound_epoch is None else equals("bound_epoch", handoff.bound_epoch)


def no_executor(now: int) -> Condition:
    """The turn may be claimed: the lease of its last executor, or the pause that it asked for, is over."""
    return is_over("turn.lease_until", now)


def no_live_turn(now: int) -> Condition:
    return either(absent("turn.id"), both(equals("turn.state", CLAIMED), no_executor(now)))


def not_claimed(now: int) -> Condition:
    return either(absent("turn.id"), equals("turn.state", OFFERED), no_executor(now))


def confirm_write(handoff: Handoff, receipt: Receipt | None, *, now: int) -> Update:
    """open → confirmed, once, in the transaction of the kickoff turn's commit."""
    return Update(
        Table.HANDOFFS,
        handoff_key(handoff.id),
        when=[allowed("confirm"), unconfirmed()],
        set={
            "confirmed": True,
            "receipt": receipt_value(receipt) if receipt else None,
            f"steps.{Step.CONFIRMED}": now,
            "updated_at": now,
        },
    )


def ended_by(transition: str, reason: Reason, now: int) -> Mapping[str, Any]:
    """The attributes of a handoff that ended without completing: not due any more, and it expires."""
    return {
        **leads_to(transition),
        "error": reason_value(reason),
        "updated_at": now,
        "expires_at": now // 1000 + KEEP_SECONDS,
        **NOT_DUE,
    }
