"""Find the session that a message at a place belongs to. Writes nothing."""

from dataclasses import dataclass

from shared.domain.handoffs import Handoff, Step
from shared.domain.interruptions import Standing, standing
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.errors import Busy, PlatformError, RequestRefused
from shared.services import Services
from shared.store.inbox import InboxRow

LONGEST_WAIT = 15.0
"""Seconds between two looks at a handoff that has not moved its session yet; the first looks follow sooner."""
NEWEST_HANDOFFS = 10
QUOTED = 80
GOING_ON = (Standing.GOOD, Standing.RESUMING)


@dataclass(frozen=True)
class Found:
    """The session lives here, and accepts messages of the sender."""

    session: Session


@dataclass(frozen=True)
class Broken:
    """The session lives here and cannot go on: send `notice`, then start a new session in its place."""

    session: Session
    notice: str


@dataclass(frozen=True)
class Vacant:
    """The user's home chat, where no session lives: start one."""


@dataclass(frozen=True)
class Elsewhere:
    """The session lives elsewhere: `notice` says where, and how to bring it here."""

    notice: str


@dataclass(frozen=True)
class Outdated:
    """A turn of a terminal that the session has left since: `notice` says so."""

    notice: str


@dataclass(frozen=True)
class NotAddressed:
    """Not addressed to us: ignore the message."""


Located = Found | Broken | Vacant | Elsewhere | Outdated | NotAddressed


def locate_session(services: Services, row: InboxRow, *, asks_platform: bool = True) -> Located:
    """Find out what lives at the place of a message, as its sender may see it.

    Raises Busy at the place of a handoff of the sender that has not moved its session there yet; some such places are
    known only to the platform.
    """
    place = row.place
    session_id = place.chat if place.is_cli else services.store.sessions.at(place)
    session = services.store.sessions.get(session_id) if session_id else None
    if session is not None and session.user_id != row.user_id:
        if session.owner == place:
            return _for_guest(services, session)
        session = None  # another user's session lived here before: do not tell this user about it
    if session is None:
        return _without_session(services, row, asks_platform=asks_platform)
    if session.owner != place:
        return Elsewhere(_lives_elsewhere(session))
    if row.epoch not in (None, session.epoch):
        return Outdated(_was_resumed(row))
    return _by_standing(services, row, session)


def _for_guest(services: Services, session: Session) -> Found | NotAddressed:
    """Another user's session that lives here. A broken one waits for its owner: a guest starts no new one."""
    is_good = standing(session, now=services.clock.now(), freshness=services.settings.freshness) in GOING_ON
    return Found(session) if session.shared and is_good else NotAddressed()


def _by_standing(services: Services, row: InboxRow, session: Session) -> Found | Broken:
    """In a chat, a suspended or expired session is broken; a terminal always keeps its session."""
    match standing(session, now=services.clock.now(), freshness=services.settings.freshness):
        case Standing.SUSPENDED if not row.place.is_cli:
            why = "The last session here was interrupted too often and is suspended"
        case Standing.EXPIRED if not row.place.is_cli:
            why = "The last session here was interrupted and has expired"
        case _:
            return Found(session)
    return Broken(session, f"{why}. A new session starts here. To bring the old one back, send `/resume {session.id}`.")


def _without_session(services: Services, row: InboxRow, *, asks_platform: bool) -> Vacant | Elsewhere | NotAddressed:
    place = row.place
    if place.is_cli:
        return NotAddressed()
    home = services.store.accounts.home(row.user_id, place.platform)
    if place == home:
        return Vacant()
    if _is_awaited(services, row, asks_platform=asks_platform):
        raise Busy(LONGEST_WAIT)
    if place.home != home:
        return NotAddressed()
    return Elsewhere("No session lives here. Send `/resume` to list yours and bring one here, or `/new` to start one.")


def _is_awaited(services: Services, row: InboxRow, *, asks_platform: bool) -> bool:
    """Whether a handoff of the sender is about to move a session here; its deadline bounds the waiting."""
    newest = services.store.handoffs.list(row.user_id, session_id=None, state=None, limit=NEWEST_HANDOFFS)
    return any(_leads_to(services, handoff, row.place, asks_platform=asks_platform) for handoff in newest)


def _leads_to(services: Services, handoff: Handoff, place: Place, *, asks_platform: bool) -> bool:
    """Whether an open handoff may end at this place: its thread, or before that is known, its chat."""
    if not handoff.is_open or handoff.is_bound or handoff.platform != place.platform:
        return False
    if handoff.thread is not None:
        return handoff.thread.place == place
    if handoff.target == place.home:
        return True
    # A thread that is a separate channel names no parent. Only the platform knows whether the handoff has opened it.
    if not asks_platform or not handoff.has_done(Step.OPENING_THREAD):
        return False
    try:
        return services.platforms.get(place.platform).find_thread(handoff.target, key=handoff.id) == place
    except (PlatformError, RequestRefused):
        return False


def _was_resumed(row: InboxRow) -> str:
    said = row.text if len(row.text) <= QUOTED else f"{row.text[:QUOTED]}…"
    return f"This message was not run, because the session was resumed since it was sent: “{said}”. Send it again to run it."


def _lives_elsewhere(session: Session) -> str:
    where = "the terminal" if session.owner.is_cli else f"another chat ({session.link or session.owner.route})"
    return f"This session now lives in {where}. Send `/resume {session.id}` to bring it here."
