"""Ownership checks, and ids that are derived so that a repeated request finds what it wrote before."""

import hashlib

from shared.domain.handoffs import Handoff
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.errors import (
    ForeignChat,
    InvalidRequest,
    Moved,
    PlaceBusy,
    PlatformNotConfigured,
    Rejected,
    RequestRefused,
    UnknownHandoff,
    UnknownPlatform,
    UnknownSession,
    WriteFirst,
)
from shared.ports.platforms import Platform, Platforms, ResolvedChat
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.retry import on_conflict


def own_session(services: Services, user_id: str, session_id: str) -> Session:
    """The user's session. Raises UnknownSession for a missing one and, alike, for another user's."""
    session = services.store.sessions.get(session_id)
    if session is None or session.user_id != user_id:
        raise UnknownSession(session_id)
    return session


def own_handoff(services: Services, user_id: str, handoff_id: str) -> Handoff:
    """The user's handoff. Raises UnknownHandoff for a missing one and, alike, for another user's."""
    handoff = services.store.handoffs.get(handoff_id)
    if handoff is None or handoff.user_id != user_id:
        raise UnknownHandoff(handoff_id)
    return handoff


def refuse_elsewhere(session: Session, epoch: int) -> None:
    """Raise Moved unless the terminal that knows `epoch` owns the session."""
    if not session.owner.is_cli or session.epoch != epoch:
        raise Moved(session)


def refuse_early(services: Services, user_id: str, chat: Place) -> None:
    """Refuse a chat as far as that needs no call to its platform; `open_to` decides.

    Raises InvalidRequest for a text of another form than the platform's ids, and PlaceBusy for another user's private
    chat where that has the user's id.
    """
    if not services.platforms.is_chat_id(chat.platform, chat.chat):
        raise InvalidRequest(f"{chat.chat[:60]!r} is not the id of a chat on {chat.platform}. Nothing was changed.")
    if services.store.accounts.user_of(chat.platform, chat.chat) not in (None, user_id):
        raise PlaceBusy(chat.route, is_mine=False)


def refuse_silent(services: Services, chat: Place) -> None:
    """Raise WriteFirst where a bot may write only for some time after the person did, and that time is over."""
    window = services.platforms.window(chat.platform)
    if window is None:
        return
    heard_at = services.store.accounts.heard_at(chat.platform, chat.chat)
    if heard_at is None or services.clock.now() >= heard_at + window * 1000:
        raise WriteFirst(chat.platform, window)


def open_to(services: Services, user_id: str, chat: Place) -> ResolvedChat:
    """The chat as its platform names it: every place that a request names is checked here before the bot uses it.

    Raises PlaceBusy for a private chat in which none of the user's accounts is, and PlatformErrors.
    """
    people = services.store.accounts.identities(user_id, chat.platform)
    try:
        return services.platforms.get(chat.platform).resolve_chat(chat, people=people)
    except ForeignChat:
        raise PlaceBusy(chat.route, is_mine=False) from None


def evict_other_users(services: Services, user_id: str, place: Place) -> None:
    """In a user's own private chat, return another user's session to its terminal. Safe to repeat.

    None can move there any more; but an account may have belonged to another user before.
    """

    def evict() -> None:
        session_id = services.store.sessions.at(place)
        session = services.store.sessions.get(session_id) if session_id else None
        if session is not None and session.owner == place and session.user_id != user_id:
            services.store.moves.to_terminal(session, now=services.clock.now())

    on_conflict(evict)


def refuse_unknown_platform(platforms: Platforms, name: str) -> None:
    """Raise UnknownPlatform."""
    known = platforms.known()
    if name not in known:
        raise UnknownPlatform(name, [platform for platform, is_supported in known.items() if is_supported])


def refuse_unusable_platform(platforms: Platforms, name: str) -> None:
    """Raise UnknownPlatform, PlatformNotSupported or PlatformNotConfigured. Loads no chat SDK."""
    refuse_unknown_platform(platforms, name)
    if not platforms.known()[name]:
        platforms.get(name)  # raises, and says why
    if not platforms.is_configured(name):
        raise PlatformNotConfigured(name)


def platform_of(services: Services, place: Place) -> Platform:
    """The adapter for a place. Raises Rejected where there is none, because the operator removed its secrets."""
    try:
        return services.platforms.get(place.platform)
    except RequestRefused as refused:
        raise Rejected(f"{place.platform} is no longer configured on this service") from refused


def is_taken_by_another_user(services: Services, place: Place, user_id: str) -> bool:
    """Whether the session that lives at a place belongs to another user."""
    session = session_at(services, place)
    return session is not None and session.user_id != user_id


def session_at(services: Services, place: Place) -> Session | None:
    """The session that lives at a place."""
    session_id = services.store.sessions.at(place)
    session = services.store.sessions.get(session_id) if session_id else None
    return session if session is not None and session.owner == place else None


def id_for(user_id: str, key: str) -> str:
    """The id that a user's key (an Idempotency-Key, or one derived from it) always leads to."""
    return _digest(user_id, key)


def session_id_at(row: InboxRow, seed: str) -> str:
    """The id of the session that `row` starts at its place; `seed` says what the session follows."""
    return _digest(row.place.route, row.user_id, seed)


def counted_turn(row: InboxRow) -> str:
    """The id under which a limit counts the turn that answers this row first: the same on every attempt, another per place.

    Platforms count messages per chat, and a session may answer in several.
    """
    return f"turn-{hashlib.sha256(row.place.route.encode()).hexdigest()[:10]}-{row.event_id}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
