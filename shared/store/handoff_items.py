"""Handoffs as items of their table, and back."""

import zlib
from collections.abc import Mapping
from typing import Any

from shared.domain.handoffs import Handoff, Reason, Receipt, State, Thread
from shared.domain.routes import place_of
from shared.ports.tables import Item
from shared.store.keys import handoff_key

DUE_SHARDS = 4
"""Partitions of the due index: enough that none is hot, few enough to read all of them each minute."""


def due_shard(handoff_id: str) -> int:
    """The partition of the due index that holds this handoff."""
    return zlib.crc32(handoff_id.encode()) % DUE_SHARDS


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
    return {
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
        "attempt": handoff.attempt,
        "fence": handoff.fence,
        "lease_until": handoff.lease_until,
        "not_before": handoff.not_before,
        "steps": dict(handoff.steps),
        "nudges": handoff.nudges,
        "due_shard": due_shard(handoff.id),
        "due_at": due_at,
    }


def handoff_of(item: Item) -> Handoff:
    """An item as a handoff."""
    thread, error, receipt = item.get("thread"), item.get("error"), item.get("receipt")
    return Handoff(
        id=item["handoff_id"],
        session_id=item["session_id"],
        user_id=item["user_id"],
        platform=item["platform"],
        target=place_of(item["target"]),
        origin=place_of(item["origin"]),
        request_epoch=item["request_epoch"],
        body_hash=item["body_hash"],
        state=State(item["state"]),
        deadline=item["deadline"],
        created_at=item["created_at"],
        updated_at=item["updated_at"],
        message=item.get("message"),
        require_thread=item.get("require_thread", False),
        replace=item.get("replace", False),
        attempt=item["attempt"],
        fence=item["fence"],
        claimant=item.get("claimant"),
        lease_until=item["lease_until"],
        not_before=item["not_before"],
        steps=item["steps"],
        thread=Thread(place_of(thread["route"]), thread["url"]) if thread else None,
        bound_epoch=item.get("bound_epoch"),
        confirmed=item.get("confirmed", False),
        notice=item.get("notice"),
        error=Reason(error["code"], error["message"]) if error else None,
        receipt=Receipt(receipt["by_role"], receipt["digest"], receipt["message_count"]) if receipt else None,
        nudges=item["nudges"],
    )
