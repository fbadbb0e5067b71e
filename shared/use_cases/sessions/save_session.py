"""Create, change and delete a session."""

from collections.abc import Mapping
from dataclasses import replace

from shared.domain.sessions import RunsOn, Session, new_session
from shared.errors import HandoffInFlight, SessionBusy, UnknownRunner
from shared.services import Services
from shared.use_cases.access import own_session
from shared.use_cases.files.remove_files import remove_files
from shared.use_cases.retry import on_conflict

Details = Mapping[str, str | RunsOn | None]
"""Attributes of a session that may be changed: title, source, cwd, model, runs_on."""


def save_session(services: Services, user_id: str, session_id: str, details: Details) -> tuple[Session, bool]:
    """Create the session, or update the details given; True if it was created. Idempotent. Raises UnknownRunner."""
    refuse_unknown_runner(services, user_id, details.get("runs_on"))
    fresh = _with(new_session(session_id, user_id, now=services.clock.now()), details)
    if services.store.sessions.create(fresh):
        return fresh, True

    return change_session(services, user_id, session_id, details), False


def change_session(services: Services, user_id: str, session_id: str, details: Details) -> Session:
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
        remove_files(services.store, services.files, session, now=services.clock.now())
        services.store.sessions.delete(session)
        remove_files(services.store, services.files, session, now=services.clock.now())  # announced in the meantime
        services.store.usage.give_back_bytes(user_id, session.uploaded_bytes)

    on_conflict(delete)


def refuse_unknown_runner(services: Services, user_id: str, runs_on: str | RunsOn | None) -> None:
    """Raise UnknownRunner unless the runner is one of the user's."""
    if isinstance(runs_on, RunsOn):
        runner = services.store.runners.get(user_id, runs_on.runner)
        if runner is None or runner.revoked:
            raise UnknownRunner(runs_on.runner)


def _with(session: Session, details: Details) -> Session:
    """The session with the details. An agent that is new to it has seen what the terminal has uploaded so far."""
    changed: Session = replace(session, **details)  # type: ignore[arg-type]  # the names and types are those of Details
    if changed.runs_on == session.runs_on:
        return changed
    return replace(changed, native_seen=session.message_count, native_dirty=False, cloud_chosen=False)
