"""One handoff for a client that follows it."""

from functions.http.holding import News
from functions.views import HandoffView
from shared.ports.changes import of_handoff
from shared.services import Services
from shared.use_cases.access import own_handoff


async def show_handoff(
    services: Services, user_id: str, handoff_id: str, *, base_url: str, wait: float, seen: str | None
) -> HandoffView:
    """A handoff as its user sees it, if asked for at once, or when there is news of it."""
    news = News(seen)
    found = await services.changes.hold(
        of_handoff(handoff_id),
        wait,
        lambda: own_handoff(services, user_id, handoff_id),
        lambda handoff: news.delay(handoff.version, is_urgent=False) if handoff.is_open else 0.0,
    )
    handoff = found.value
    session = services.store.sessions.get(handoff.session_id)
    now = services.clock.now()
    return HandoffView.of(handoff, session, base_url=base_url, now=now, was_held=found.was_held)
