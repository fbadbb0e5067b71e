"""While an agent works: show typing and progress, renew the lease, and cancel the request when the turn is over."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence

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

    Typing has a thread for itself, so that a platform that hangs delays no renewal.
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

    kept = [_Beat(renew, every)]
    if progress is not None:
        kept.append(_Beat(show_progress, SHOW_EVERY / 1000))
    threads = [_beating(stop, kept)]
    if not place.is_cli:
        threads.append(_beating(stop, [_Beat(show_typing, min(TYPING_EVERY, every), first=TYPING_AFTER)]))
    try:
        yield cancellation
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=1)


class _Beat:
    """Something to do each `every` seconds; `first`: seconds until the first time, if these are others."""

    def __init__(self, do: Callable[[], None], every: float, *, first: float | None = None) -> None:
        self._do, self._every = do, every
        self.at = time.monotonic() + (every if first is None else first)

    def beat(self) -> None:
        """Survives any error: the next beat may succeed."""
        try:
            self._do()
        except Exception as trouble:  # noqa: BLE001  # the commit checks the lease, so nothing else is at stake
            log.warning("a heartbeat of a turn failed: %s", type(trouble).__name__)
        self.at = time.monotonic() + self._every


def _beating(stop: threading.Event, beats: Sequence[_Beat]) -> threading.Thread:
    """A thread in which the beats come when it is their time, until `stop`."""

    def run() -> None:
        while not stop.wait((due := min(beats, key=lambda beat: beat.at)).at - time.monotonic()):
            due.beat()

    thread = threading.Thread(target=run, name="turn-heartbeat", daemon=True)
    thread.start()
    return thread
