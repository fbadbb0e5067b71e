"""While an agent works: show typing and progress, renew the lease, and cancel the request when the turn is over."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator

from shared.domain.progress import SHOW_EVERY
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.ports.agents import Cancellation
from shared.services import Services
from shared.use_cases.turns.live_progress import LiveProgress

log = logging.getLogger(__name__)
TYPING_AFTER = 1.0
"""Seconds. An agent that answers sooner is not shown as typing: the reply would wait for that call."""
TYPING_EVERY = 4.0
RENEW_EVERY = 20.0
RENEWALS_PER_LEASE = 3


@contextlib.contextmanager
def heartbeat(
    services: Services, session: Session, place: Place, progress: LiveProgress | None = None
) -> Iterator[Cancellation]:
    """Renew the lease of the session's turn while the body runs. The body's request is cancelled once that is refused.

    Typing, progress and renewals have a thread each, so that a platform that hangs delays no renewal.
    """
    every = min(RENEW_EVERY, services.settings.turn_lease / 1000 / RENEWALS_PER_LEASE)
    cancellation, stop = Cancellation(), threading.Event()

    def cancel() -> None:
        log.info("session %s: its turn is over, so the agent's request is cancelled", session.id)
        cancellation.cancel()
        stop.set()

    def renew() -> None:
        if not services.store.turns.renew(session, lease_until=services.clock.now() + services.settings.turn_lease):
            cancel()

    def show_progress() -> None:
        if progress is not None and not progress.show():
            cancel()

    def show_typing() -> None:
        services.platforms.get(place.platform).typing(place)

    threads = [_repeat(stop, every, renew)]
    if not place.is_cli:
        threads.append(_repeat(stop, min(TYPING_EVERY, every), show_typing, at_once=True))
    if progress is not None:
        threads.append(_repeat(stop, SHOW_EVERY / 1000, show_progress))
    try:
        yield cancellation
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=1)


def _repeat(
    stop: threading.Event, every: float, beat: Callable[[], None], *, at_once: bool = False
) -> threading.Thread:
    """Run `beat` each so many seconds until `stop`, in a thread that survives any error: the next beat may succeed."""

    def beat_on() -> None:
        pause = TYPING_AFTER if at_once else every
        while not stop.wait(pause):
            pause = every
            try:
                beat()
            except Exception as trouble:  # noqa: BLE001  # the commit checks the lease, so nothing else is at stake
                log.warning("a heartbeat of a turn failed: %s", type(trouble).__name__)

    thread = threading.Thread(target=beat_on, name="turn-heartbeat", daemon=True)
    thread.start()
    return thread
