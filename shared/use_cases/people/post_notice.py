"""Post a short text in a user's home chat, for programs that have something to tell."""

from dataclasses import dataclass

from shared.domain.routes import Place
from shared.errors import NoHome
from shared.ports.queue import Notice
from shared.services import Services
from shared.use_cases.access import id_for, refuse_silent, refuse_unusable_platform


@dataclass(frozen=True)
class Posted:
    """A notice that is queued, and the chat where it will appear."""

    id: str
    home: Place
    link: str


def post_notice(
    services: Services, user_id: str, text: str, *, platform: str | None = None, idempotency_key: str | None = None
) -> Posted:
    """Queue a notice for the user's home on the platform, or on the first platform where they have one.

    One a minute: others are dropped. Idempotent by its key: a retry after a crash queues what was counted before, and
    the outbox posts it once. Raises NoHome, WriteFirst, TooManyNotices, and what `refuse_unusable_platform` raises.
    """
    home = _home(services, user_id, platform)
    refuse_silent(services, home)
    notice_id = id_for(user_id, f"notice {idempotency_key}") if idempotency_key else services.new_id()
    services.store.usage.take_notice(user_id, notice_id, now=services.clock.now())
    # In a line of its own: it must not wait behind a message whose reader has died.
    services.queue.send(Notice(home, notice_id, text), dedupe=notice_id, line=f"notice {home.route}")
    return Posted(notice_id, home, services.platforms.get(home.platform).link(home))


def _home(services: Services, user_id: str, platform: str | None) -> Place:
    if platform is not None:
        refuse_unusable_platform(services.platforms, platform)
        home = services.store.accounts.home(user_id, platform)
    else:
        homes = services.store.accounts.homes(user_id)
        usable = (
            name for name in services.platforms.known() if name in homes and services.platforms.is_configured(name)
        )
        home = homes.get(next(usable, ""))
    if home is None:
        raise NoHome(platform)
    return home
