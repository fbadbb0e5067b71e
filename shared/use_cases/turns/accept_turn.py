"""Accept a turn from the terminal: store it and queue it like every other turn."""

from dataclasses import replace

from shared.domain.routes import Place, cli_place
from shared.domain.sessions import Session, TurnLease
from shared.errors import HandoffInFlight, SessionBusy, SessionSuspended
from shared.ports.inbox import InboxRow
from shared.ports.queue import InboxEvent
from shared.services import Services
from shared.use_cases.access import ACCEPTED_PREFIX, accepted_turn, own_session, refuse_elsewhere, turn_of
from shared.use_cases.retry import on_conflict

ACCEPTED_LEASE = 300_000
"""Milliseconds that an accepted turn keeps its session busy while it waits in the queue."""


def accept_turn(services: Services, user_id: str, session_id: str, *, epoch: int, turn_id: str, text: str) -> Session:
    """Store what the user said and queue a turn. Idempotent by `turn_id`.

    The session is busy from here on, not only when the turn runs, because a handoff and a turn exclude each other.
    Raises Moved, SessionSuspended, HandoffInFlight, SessionBusy or TooManyTurns.
    """
    place = cli_place(session_id)
    row = InboxRow(place, turn_id, user_id, text, services.clock.now(), user_id, epoch=epoch)

    def accept() -> Session:
        session = own_session(services, user_id, session_id)
        if services.store.inbox.get(place, turn_id) is not None:
            return session
        refuse_elsewhere(session, epoch)
        now = services.clock.now()
        if session.suspended:
            raise SessionSuspended(session_id)
        if session.active_handoff:
            raise HandoffInFlight(session_id, session.active_handoff)
        mine = accepted_turn(row)
        if session.turn is not None and session.turn.id == mine and session.has_live_turn(now):
            return session
        if session.turn is not None and session.has_live_turn(now):
            _wake_again(services, session.cli, session.turn)
            raise SessionBusy(session_id)
        services.store.usage.take_turn(user_id, turn_of(row), now=now)
        busy = replace(session, turn=TurnLease(mine, now + ACCEPTED_LEASE), updated_at=now)
        return services.store.sessions.replace(session, busy)

    session = on_conflict(accept)
    services.store.inbox.put(row)
    services.queue.send(InboxEvent(place, turn_id), dedupe=f"turn {place.route} {turn_id}")
    return session


def _wake_again(services: Services, place: Place, turn: TurnLease) -> None:
    """Queue an accepted turn again, in case its process died before it did; a queued one is not queued twice."""
    event_id = turn.id.removeprefix(ACCEPTED_PREFIX)
    if event_id != turn.id:
        services.queue.send(InboxEvent(place, event_id), dedupe=f"turn {place.route} {event_id}")


def release_accepted(services: Services, row: InboxRow) -> None:
    """Free a terminal's session of a turn that was accepted and will not run. Safe to repeat."""
    if not row.place.is_cli:
        return

    def free() -> None:
        session = services.store.sessions.get(row.place.chat)
        if session is not None and session.turn is not None and session.turn.id == accepted_turn(row):
            services.store.sessions.replace(session, replace(session, turn=None))

    on_conflict(free)
