"""What the transitions of a handoff ask of its item and of its session's, each piece by name."""

from collections.abc import Mapping
from typing import Any

from shared.aws.handoff_items import reason_value, receipt_value
from shared.aws.tables import handoff_key
from shared.aws.writes import Condition, Update, absent, at_most, either, equals, one_of
from shared.domain.handoffs import TRANSITIONS, Handoff, Reason, Receipt, Step

NUDGE_AFTER = 30_000
CONFIRMED_DUE_AFTER = 120_000
KEEP_SECONDS = 30 * 24 * 3600
NOT_DUE: Mapping[str, Any] = {"due_shard": None, "due_at": None}


def allowed(transition: str) -> Condition:
    """The states that the domain's table lets this transition start from."""
    return one_of("state", sorted(state.value for state in TRANSITIONS[transition].sources))


def leads_to(transition: str) -> Mapping[str, str]:
    """The state that the domain's table lets this transition lead to, to be written; nothing where it stays."""
    target = TRANSITIONS[transition].target
    return {"state": target.value} if target else {}


def fence_is_mine(handoff: Handoff) -> Condition:
    return equals("fence", handoff.fence)


def unconfirmed() -> Condition:
    return absent("confirmed")


def not_bound() -> Condition:
    return absent("bound_epoch")


def no_live_turn(now: int) -> Condition:
    return either(absent("turn_id"), at_most("turn_lease_until", now))


def confirm_write(table: str, handoff: Handoff, receipt: Receipt | None, *, now: int) -> Update:
    """open → confirmed, once, as part of the kickoff turn's commit."""
    return Update(
        table,
        handoff_key(handoff.id),
        when=[allowed("confirm"), unconfirmed()],
        set={
            "confirmed": True,
            "receipt": receipt_value(receipt) if receipt else None,
            f"steps.{Step.CONFIRMED}": now,
            "updated_at": now,
            "due_at": now + CONFIRMED_DUE_AFTER,
        },
    )


def ended_by(transition: str, reason: Reason, now: int) -> Mapping[str, Any]:
    """The attributes of a handoff that did not complete; nobody looks after it any more, and one day it goes."""
    return {
        **leads_to(transition),
        "error": reason_value(reason),
        "updated_at": now,
        "expires_at": now // 1000 + KEEP_SECONDS,
        **NOT_DUE,
    }
