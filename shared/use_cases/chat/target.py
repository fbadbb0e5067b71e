"""Where a session goes that a command brings or begins: a new thread of the chat where it was typed."""

from dataclasses import dataclass

from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.services import Services
from shared.use_cases.access import session_at


@dataclass(frozen=True)
class Target:
    """A chat, and whether it has threads: without them a session that lives there has to give way."""

    place: Place
    has_threads: bool


def target_of(services: Services, user_id: str, place: Place) -> Target:
    """The chat around the thread; elsewhere the user's home, because some threads are chats that name no parent."""
    has_threads = services.platforms.has_threads(place.platform)
    home = services.store.accounts.home(user_id, place.platform)
    return Target(place.home if place.thread or home is None or not has_threads else home, has_threads)


def in_the_way(services: Services, target: Target) -> Session | None:
    """The session that would have to leave."""
    return None if target.has_threads else session_at(services, target.place)
