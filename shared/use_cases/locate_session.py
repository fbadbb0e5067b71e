"""Find the session that a message at a place belongs to, or the words that say where it lives."""

import hashlib
from dataclasses import dataclass

from shared.domain.interruptions import Standing, standing
from shared.domain.sessions import Session
from shared.errors import NotYet
from shared.ports import InboxRow
from shared.services import Services

WAIT_FOR_HANDOFF = 2.0
WAIT_LIMIT = 60_000


@dataclass(frozen=True)
class Found:
    """The session lives here; `notice` says if it is a fresh one in place of another."""

    session: Session
    notice: str | None = None


@dataclass(frozen=True)
class Elsewhere:
    """It does not live here; these words say where, and how to bring it."""

    words: str


@dataclass(frozen=True)
class Nothing:
    """Nobody's business."""


def locate(services: Services, row: InboxRow) -> Found | Elsewhere | Nothing:
    """Resolve the place of an inbound message; an ended or suspended session is never revived.

    A home chat without a session gets one, derived from its route. A thread never does: while a handoff in its chat is
    running the message waits (NotYet), then it is answered.
    """
    place = row.place
    session_id = place.chat if place.is_cli else services.store.sessions.at(place)
    session = services.store.sessions.get(session_id) if session_id else None
    if session is None:
        return _unknown(services, row)
    if session.user_id != row.user_id:
        return Nothing()
    if session.owner != place:
        return Elsewhere(lives_elsewhere(session))
    return _as_it_stands(services, row, session)


def _as_it_stands(services: Services, row: InboxRow, session: Session) -> Found | Elsewhere:
    now = services.clock.now()
    match standing(session, now=now, freshness=services.settings.freshness):
        case Standing.SUSPENDED:
            why = "The last session here was interrupted too often and is suspended"
        case Standing.EXPIRED:
            why = "The last session here was interrupted and has expired"
        case _:
            return Found(session)
    if row.place.is_cli:
        return Elsewhere(f"{why}. Start a new session, or copy this one with `handoff resume {session.id} --fork`.")
    fresh = start_fresh(services, row, seed=f"{session.id} {session.version}")
    return Found(fresh, f"{why}; this is a fresh one. /resume {session.id} brings the old one back.")


def _unknown(services: Services, row: InboxRow) -> Found | Elsewhere | Nothing:
    place = row.place
    if place.is_cli:
        return Nothing()
    if place.thread is not None or not _is_home(services, row):
        if _handoff_on_its_way(services, row) and services.clock.now() - row.received_at < WAIT_LIMIT:
            raise NotYet(WAIT_FOR_HANDOFF)
        return Elsewhere("No session lives here. `/resume` lists yours and brings one here; `/new` starts one.")
    return Found(start_fresh(services, row, seed=""))


def _is_home(services: Services, row: InboxRow) -> bool:
    return services.store.accounts.home(row.user_id, row.place.platform) == row.place


def _handoff_on_its_way(services: Services, row: InboxRow) -> bool:
    handoffs = services.store.handoffs.list(row.user_id, session_id=None, state="running", limit=20)
    return any(handoff.platform == row.place.platform for handoff in handoffs)


def start_fresh(services: Services, row: InboxRow, *, seed: str) -> Session:
    """A new session at a place; its id derives from the route (and what it follows), so that a repeat finds it."""
    now = services.clock.now()
    session_id = hashlib.sha256(f"{row.place.route}\n{seed}".encode()).hexdigest()[:32]
    fresh = Session(
        id=session_id,
        user_id=row.user_id,
        owner=row.place,
        epoch=0,
        version=0,
        message_count=0,
        created_at=now,
        updated_at=now,
        title=None,
        source=row.place.platform,
        link=services.platforms.get(row.place.platform).link(row.place),
    )
    services.store.sessions.create(fresh)
    services.store.sessions.point(row.place, session_id)
    return services.store.sessions.get(session_id) or fresh


def lives_elsewhere(session: Session) -> str:
    """Where a session lives now, and how to bring it back to the place that asks."""
    where = "the terminal" if session.owner.is_cli else f"another place ({session.link or session.owner.route})"
    return f"This session now lives in {where}. `/resume {session.id}` brings it here."
