"""Sessions and handoffs as clients see them."""

from datetime import UTC, datetime
from typing import Any

from shared.domain.handoffs import Handoff
from shared.domain.sessions import Session

POLL_STEPS = ((100, 100), (300, 200), (700, 400))
POLL_AT_REST = 1000


def iso(at: int) -> str:
    """Milliseconds since the epoch as ISO 8601."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def poll_after_ms(age: int) -> int:
    """How long to wait before asking again: 100, 200, 400, then 1000, by the age of what is asked about."""
    return next((pause for until, pause in POLL_STEPS if age < until), POLL_AT_REST)


def session_view(session: Session, *, now: int) -> dict[str, Any]:
    """A session for its user."""
    return {
        "id": session.id,
        "title": session.title,
        "source": session.source,
        "cwd": session.cwd,
        "model": session.model,
        "owner": session.owner_name,
        "epoch": session.epoch,
        "message_count": session.message_count,
        "active_handoff": session.active_handoff,
        "link": session.link,
        "suspended": session.suspended,
        "turn_running": session.has_live_turn(now),
        "created_at": iso(session.created_at),
        "updated_at": iso(session.updated_at),
    }


def handoff_view(handoff: Handoff, session: Session | None, *, base_url: str, now: int) -> dict[str, Any]:
    """A handoff for its user. A client needs to know only `done` and `error`; the rest is to be shown."""
    steps = [{**step, "at": iso(step["at"])} for step in handoff.shown_steps()]
    return {
        "id": handoff.id,
        "session_id": handoff.session_id,
        "platform": handoff.platform,
        "state": handoff.state.value,
        "done": not handoff.is_open,
        "step": steps[-1]["name"] if steps else None,
        "steps": steps,
        "thread": {"id": handoff.thread.id, "url": handoff.thread.url} if handoff.thread else None,
        "notice": handoff.notice,
        "error": {"code": handoff.error.code, "message": handoff.error.message} if handoff.error else None,
        "receipt": {
            "by_role": dict(handoff.receipt.by_role),
            "digest": handoff.receipt.digest,
            "message_count": handoff.receipt.message_count,
        }
        if handoff.receipt
        else None,
        "session": {
            "owner": session.owner_name,
            "epoch": session.epoch,
            "message_count": session.message_count,
            "title": session.title,
        }
        if session
        else None,
        "resume_hint": f"To bring the session back to the terminal: handoff resume {handoff.session_id}",
        "attempt": handoff.attempt,
        "status_url": f"{base_url}/handoffs/{handoff.id}",
        "poll_after_ms": poll_after_ms(now - handoff.created_at),
        "created_at": iso(handoff.created_at),
        "updated_at": iso(handoff.updated_at),
    }
