"""Find the session that a message at a place belongs to, or the words that say where it lives."""

import hashlib
from dataclasses import dataclass, replace

from shared.domain.interruptions import Standing, standing
from shared.domain.routes import Place
from shared.domain.sessions import Session, new_session
from shared.errors import NotYet, UnknownSession
from shared.ports.inbox import InboxRow
from shared.services import Services
from shared.use_cases.retry import on_conflict
from shared.use_cases.sessions.save_session import own_session

WAIT_FOR_HANDOFF = 2.0
NEWEST = 10


@dataclass(frozen=True)
class Found:
    """The session lives here."""

    session: Session


@dataclass(frozen=True)
class Broken:
    """The session that lives here cannot go on; `words` say so, and a fresh one is to take its place."""

    session: Session
    words: str


@dataclass(frozen=True)
class Elsewhere:
    """It does not live here; these words say where, and how to bring it."""

    words: str


@dataclass(frozen=True)
class Nothing:
    """Nobody's business."""


def locate(services: Services, row: InboxRow) -> Found | Broken | Elsewhere | Nothing:
    """Resolve the place of an inbound message; an ended or suspended session is never revived.

    A home chat without a session gets one, derived from its route. A thread never does: while a handoff in its chat is
    running the message waits (NotYet), then it is answered.
    """
    place = row.place
    session_id = place.chat if place.is_cli else services.store.sessions.at(place)
    session = services.store.sessions.get(session_id) if session_id else None
    if session is not None and session.user_id != row.user_id:
        if session.owner == place:
            return Nothing()
        session = None  # somebody else's session once lived here: that is no news for this person
    if session is None:
        return _unknown(services, row)
    if session.owner != place:
        return Elsewhere(lives_elsewhere(session))
    return _as_it_stands(services, row, session)


def _as_it_stands(services: Services, row: InboxRow, session: Session) -> Found | Broken:
    """A terminal goes on with its session whatever happened; a chat is given a fresh one in place of a broken one."""
    now = services.clock.now()
    match standing(session, now=now, freshness=services.settings.freshness):
        case Standing.SUSPENDED if not row.place.is_cli:
            why = "The last session here was interrupted too often and is suspended"
        case Standing.EXPIRED if not row.place.is_cli:
            why = "The last session here was interrupted and has expired"
        case _:
            return Found(session)
    return Broken(session, f"{why}; a fresh one begins here. `/resume {session.id}` brings the old one back.")


def _unknown(services: Services, row: InboxRow) -> Found | Elsewhere | Nothing:
    """A place without a session: the home chat gets one; in other chats people talk among themselves."""
    place = row.place
    if place.is_cli:
        return Nothing()
    home = services.store.accounts.home(row.user_id, place.platform)
    if place == home:
        return Found(start_fresh(services, row, seed="home"))
    if _handoff_on_its_way(services, row):
        raise NotYet(WAIT_FOR_HANDOFF)
    if place.home != home:
        return Nothing()
    return Elsewhere("No session lives here. `/resume` lists yours and brings one here; `/new` starts one.")


def _handoff_on_its_way(services: Services, row: InboxRow) -> bool:
    """Whether this may become the thread of a handoff that is still under way; its deadline ends the waiting."""
    newest = services.store.handoffs.list(row.user_id, session_id=None, state=None, limit=NEWEST)
    return any(
        handoff.is_open and not handoff.is_bound and handoff.platform == row.place.platform for handoff in newest
    )


def replace_broken(services: Services, row: InboxRow, broken: Session) -> Session:
    """A fresh session in place of one that cannot go on. Safe to repeat."""
    return start_fresh(services, row, seed=f"after {broken.id} {broken.epoch}")


def start_fresh(services: Services, row: InboxRow, *, seed: str) -> Session:
    """A new session at a place; its id derives from the route and what it follows, so that a repeat finds it.

    It is brought here like any other, so that whoever lived here goes back to its terminal.
    """
    session_id = hashlib.sha256(f"{row.place.route}\n{row.user_id}\n{seed}".encode()).hexdigest()[:32]
    if not _make(services, row, session_id):
        earlier = services.store.sessions.get(session_id)
        if earlier is not None and earlier.epoch > 0 and earlier.owner != row.place:
            # It was here once and has moved on: what begins here now is another one.
            return start_fresh(services, row, seed=f"{seed} {row.event_id}")
    try:
        return bring_here(services, row.user_id, session_id, row.place)
    except UnknownSession:
        # Clients choose ids, and somebody took this one. An id by chance leaves an empty session behind when repeated.
        session_id = services.new_id()
        _make(services, row, session_id)
        return bring_here(services, row.user_id, session_id, row.place)


def _make(services: Services, row: InboxRow, session_id: str) -> bool:
    fresh = new_session(session_id, row.user_id, now=services.clock.now())
    return services.store.sessions.create(replace(fresh, source=row.place.platform))


def bring_here(services: Services, user_id: str, session_id: str, place: Place) -> Session:
    """Move a person's own session to the chat where they ask for it. Safe to repeat.

    Raises UnknownSession if it is not theirs, PlaceBusy where somebody else's session lives.
    """

    def bring() -> Session:
        session = own_session(services, user_id, session_id)
        if session.owner == place:
            return session
        link = services.platforms.get(place.platform).link(place)
        return services.store.moves.to_chat(session, place, link, now=services.clock.now())

    return on_conflict(bring)


def is_somebody_elses(services: Services, row: InboxRow) -> bool:
    """Whether the session that lives at a message's place belongs to another user than its sender."""
    session_id = services.store.sessions.at(row.place)
    session = services.store.sessions.get(session_id) if session_id else None
    return session is not None and session.owner == row.place and session.user_id != row.user_id


def lives_elsewhere(session: Session) -> str:
    """Where a session lives now, and how to bring it back to the place that asks."""
    where = "the terminal" if session.owner.is_cli else f"another place ({session.link or session.owner.route})"
    return f"This session now lives in {where}. `/resume {session.id}` brings it here."
