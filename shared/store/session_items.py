"""Sessions as META items of their table, and back."""

from collections.abc import Mapping
from typing import Any

from shared.domain.routes import place_of
from shared.domain.sessions import FailedTries, Interruption, ResumePending, Session, TurnLease
from shared.ports.tables import Item
from shared.store.keys import meta_key
from shared.store.versions import map_at, stamped


def session_of(item: Item) -> Session:
    """A META item as a session."""
    turn_id = item.get("turn_id")
    tries = map_at(item, "failed_tries")
    return Session(
        id=item["session_id"],
        user_id=item["user_id"],
        owner=place_of(item["owner"]),
        epoch=item["epoch"],
        version=item["version"],
        message_count=item["message_count"],
        created_at=item["created_at"],
        updated_at=item["updated_at"],
        title=item.get("title"),
        source=item.get("source"),
        cwd=item.get("cwd"),
        model=item.get("model"),
        link=item.get("link"),
        active_handoff=item.get("active_handoff"),
        turn=TurnLease(turn_id, item.get("turn_lease_until", 0)) if turn_id else None,
        strikes=item.get("strikes", 0),
        resume_pending=_resume_pending(item),
        suspended=item.get("suspended", False),
        uploaded_bytes=item.get("uploaded_bytes", 0),
        failed_tries=FailedTries(tries["turn"], tries.get("count", 0)) if "turn" in tries else None,
    )


def _resume_pending(item: Item) -> ResumePending | None:
    if "resume_pending" not in item:
        return None
    pending = map_at(item, "resume_pending")
    reason = pending.get("reason")
    known = Interruption(reason) if reason in tuple(Interruption) else Interruption.UNKNOWN
    return ResumePending(known, pending.get("at", item["updated_at"]))


def item_of(session: Session) -> Mapping[str, Any]:
    """A session as its META item. `user_id` and `created_at` are also the keys of the `by_user` index."""
    pending, tries = session.resume_pending, session.failed_tries
    values = {
        **meta_key(session.id),
        "session_id": session.id,
        "user_id": session.user_id,
        "owner": session.owner.route,
        "epoch": session.epoch,
        "version": session.version,
        "message_count": session.message_count,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
        "title": session.title,
        "source": session.source,
        "cwd": session.cwd,
        "model": session.model,
        "link": session.link,
        "active_handoff": session.active_handoff,
        "turn_id": session.turn.id if session.turn else None,
        "turn_lease_until": session.turn.lease_until if session.turn else None,
        "strikes": session.strikes or None,
        "resume_pending": {"reason": pending.reason.value, "at": pending.at} if pending else None,
        "suspended": session.suspended or None,
        "uploaded_bytes": session.uploaded_bytes or None,
        "failed_tries": {"turn": tries.turn, "count": tries.count} if tries else None,
    }
    return stamped(values)
