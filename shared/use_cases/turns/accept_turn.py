"""Accept a turn from the terminal: what the user said and the offer of a turn, in one write."""

from shared.domain.routes import cli_place
from shared.domain.sessions import Session
from shared.errors import HandoffInFlight, SessionBusy, SessionSuspended
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import counted_turn, own_session, refuse_elsewhere
from shared.use_cases.offers import rows_offer, send_run
from shared.use_cases.retry import on_conflict


def accept_turn(services: Services, user_id: str, session_id: str, *, epoch: int, turn_id: str, text: str) -> Session:
    """Store what the user said and offer a turn. Idempotent by `turn_id`; a repeat also sends the turn's run again.

    The session is busy from here on, because a handoff and a turn exclude each other. Raises Moved, SessionSuspended,
    HandoffInFlight, SessionBusy or TooManyTurns.
    """
    place = cli_place(session_id)
    row = InboxRow(place, turn_id, user_id, text, services.clock.now(), user_id, epoch=epoch)

    def accept() -> Session:
        session = own_session(services, user_id, session_id)
        if services.store.inbox.get(place, turn_id) is not None:
            return session
        refuse_elsewhere(session, epoch)
        if session.suspended:
            raise SessionSuspended(session_id)
        if session.active_handoff:
            raise HandoffInFlight(session_id, session.active_handoff)
        if session.turn is not None:
            raise SessionBusy(session_id)
        services.store.usage.take_turn(user_id, counted_turn(row), now=services.clock.now())
        return services.store.turns.offer(session, rows_offer(services, session, (turn_id,)), accepted=row)

    session = on_conflict(accept)
    if session.turn is not None:
        send_run(services, session.id, session.turn.id)
    return session
