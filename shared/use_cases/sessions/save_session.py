"""Create, change and delete a session."""

from collections.abc import Mapping
from dataclasses import replace

from shared.domain.sessions import Session, new_session
from shared.errors import HandoffInFlight, SessionBusy
from shared.services import Services
from shared.use_cases.access import own_session
from shared.use_cases.retry import on_conflict


def save_session(
    services: Services, user_id: str, session_id: str, details: Mapping[str, str | None]
) -> tuple[Session, bool]:
    """Create the session, or update the details given (title, source, cwd, model); True if it was created. Idempotent."""
    fresh = _with(new_session(session_id, user_id, now=services.clock.now()), details)
    if services.store.sessions.create(fresh):
        return fresh, True

    return change_session(services, user_id, session_id, details), False


def change_session(services: Services, user_id: str, session_id: str, details: Mapping[str, str | None]) -> Session:
    """Update the details given; writes nothing if they are unchanged."""

    def change() -> Session:
        session = own_session(services, user_id, session_id)
        changed = _with(session, details)
        if changed == session:
            return session
        return services.store.sessions.replace(session, replace(changed, updated_at=services.clock.now()))

    return on_conflict(change)


def delete_session(services: Services, user_id: str, session_id: str) -> None:
    """Delete a session and its data. Raises HandoffInFlight, or SessionBusy during a turn."""

    def delete() -> None:
        session = own_session(services, user_id, session_id)
        handoff = services.store.handoffs.get(session.active_handoff) if session.active_handoff else None
        if handoff is not None and handoff.is_open:
            raise HandoffInFlight(session_id, handoff.id)
        if session.has_live_turn(services.clock.now()):
            raise SessionBusy(session_id)
        services.store.sessions.delete(session)
        services.store.usage.give_back_bytes(user_id, session.uploaded_bytes)

    on_conflict(delete)


def _with(session: Session, details: Mapping[str, str | None]) -> Session:
    return replace(session, **details)  # type: ignore[arg-type]  # the details are all texts
