"""Handoffs as items of their table, and back."""

from collections.abc import Mapping
from typing import Any

from shared.domain.handoffs import Handoff, Reason, Receipt, State, Step, Thread
from shared.domain.routes import place_of
from shared.ports.tables import Item
from shared.store.due import due_shard
from shared.store.keys import handoff_key
from shared.store.values import is_set, map_at, place_at
from shared.store.versions import is_newer, stamped

_STATES = tuple(State)


def thread_value(thread: Thread) -> Mapping[str, str]:
    """A thread as a stored value."""
    return {"route": thread.place.route, "url": thread.url}


def reason_value(reason: Reason) -> Mapping[str, str]:
    """A reason as a stored value."""
    return {"code": reason.code, "message": reason.message}


def receipt_value(receipt: Receipt) -> Mapping[str, Any]:
    """A receipt as a stored value."""
    return {"by_role": dict(receipt.by_role), "digest": receipt.digest, "message_count": receipt.message_count}


def item_of(handoff: Handoff, *, due_at: int) -> Mapping[str, Any]:
    """A new handoff as its item: small, because the stream carries every change of it."""
    values = {
        **handoff_key(handoff.id),
        "session_id": handoff.session_id,
        "user_id": handoff.user_id,
        "platform": handoff.platform,
        "target": handoff.target.route,
        "origin": handoff.origin.route,
        "request_epoch": handoff.request_epoch,
        "body_hash": handoff.body_hash,
        "state": handoff.state.value,
        "deadline": handoff.deadline,
        "created_at": handoff.created_at,
        "updated_at": handoff.updated_at,
        "message": handoff.message,
        "require_thread": handoff.require_thread or None,
        "replace": handoff.replace or None,
        "share": handoff.share or None,
        "command": handoff.command,
        "asked_at": handoff.asked_at.route if handoff.asked_at else None,
        "begins": handoff.begins or None,
        "attempt": handoff.attempt,
        "fence": handoff.fence,
        "lease_until": handoff.lease_until,
        "not_before": handoff.not_before,
        "steps": dict(handoff.steps),
        "nudges": handoff.nudges,
        "due_shard": due_shard(handoff.id),
        "due_at": due_at,
    }
    return stamped(values)


def handoff_of(item: Item) -> Handoff:
    """An item as a handoff. Only what a request writes into every item is required."""
    thread, error, receipt = map_at(item, "thread"), map_at(item, "error"), map_at(item, "receipt")
    return Handoff(
        id=item["handoff_id"],
        session_id=item["session_id"],
        user_id=item["user_id"],
        platform=item["platform"],
        target=place_of(item["target"]),
        origin=place_of(item["origin"]),
        request_epoch=item["request_epoch"],
        body_hash=item["body_hash"],
        state=_state_of(item),
        deadline=item["deadline"],
        created_at=item["created_at"],
        updated_at=item["updated_at"],
        message=item.get("message"),
        require_thread=item.get("require_thread", False),
        replace=item.get("replace", False),
        share=bool(item.get("share")),
        command=item.get("command"),
        asked_at=place_at(item, "asked_at"),
        begins=is_set(item, "begins"),
        attempt=item.get("attempt", 0),
        fence=item.get("fence", 0),
        claimant=item.get("claimant"),
        lease_until=item.get("lease_until", 0),
        not_before=item.get("not_before", 0),
        steps=map_at(item, "steps"),
        thread=Thread(place_of(thread["route"]), thread.get("url", "")) if "route" in thread else None,
        bound_epoch=item.get("bound_epoch"),
        confirmed=item.get("confirmed", False),
        notice=item.get("notice"),
        error=Reason(error.get("code", "unknown"), error.get("message", "")) if error else None,
        receipt=_receipt_of(receipt) if receipt else None,
        nudges=item.get("nudges", 0),
        is_newer=is_newer(item) or ("expires_at" not in item and not _is_known(item)),
    )


def _is_known(item: Item) -> bool:
    return item["state"] in _STATES


def _state_of(item: Item) -> State:
    """An unknown state has ended if the item expires, because only ended handoffs do; else it is shown as running."""
    if _is_known(item):
        return State(item["state"])
    if "expires_at" not in item:
        return State.RUNNING
    return State.COMPLETED if Step.COMPLETED.value in map_at(item, "steps") else State.FAILED


def _receipt_of(value: Mapping[str, Any]) -> Receipt:
    return Receipt(map_at(value, "by_role"), value.get("digest", ""), value.get("message_count", 0))
