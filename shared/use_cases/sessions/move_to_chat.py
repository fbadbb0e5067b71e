"""Move a user's session to a chat, or start a new one there."""

from dataclasses import replace

from shared.domain.routes import Place
from shared.domain.sessions import Session, new_session
from shared.errors import UnknownSession
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import own_session, session_id_at
from shared.use_cases.retry import on_conflict


def move_to_chat(services: Services, user_id: str, session_id: str, place: Place) -> Session:
    """Move a user's own session to a chat; the user's session that lived there goes back to its terminal. Safe to repeat.

    Raises UnknownSession if it is not the user's, PlaceBusy where another user's session lives.
    """

    def move() -> Session:
        session = own_session(services, user_id, session_id)
        if session.owner == place:
            return session
        link = services.platforms.get(place.platform).link(place)
        return services.store.moves.to_chat(session, place, link, now=services.clock.now())

    return on_conflict(move)


def start_in_chat(services: Services, row: InboxRow, *, seed: str) -> Session:
    """Start a session at the place of a message. Safe to repeat: the same `seed` finds the same session."""
    session_id = session_id_at(row, seed)
    if not _create(services, row, session_id):
        earlier = services.store.sessions.get(session_id)
        if earlier is not None and earlier.epoch > 0 and earlier.owner != row.place:
            # That session was started here before and has moved away since: start another one.
            return start_in_chat(services, row, seed=f"{seed} {row.event_id}")
    try:
        return move_to_chat(services, row.user_id, session_id, row.place)
    except UnknownSession:
        # Another user's client chose this id. A random id is not derived, so a repeat leaves an empty session behind.
        session_id = services.new_id()
        _create(services, row, session_id)
        return move_to_chat(services, row.user_id, session_id, row.place)


def replace_broken(services: Services, row: InboxRow, broken: Session) -> Session:
    """Start a session in place of one that cannot go on. Safe to repeat."""
    return start_in_chat(services, row, seed=f"after {broken.id} {broken.epoch}")


def _create(services: Services, row: InboxRow, session_id: str) -> bool:
    session = new_session(session_id, row.user_id, now=services.clock.now())
    return services.store.sessions.create(replace(session, source=row.place.platform))
