"""While an agent works: show typing and progress, renew the lease, and cancel the request when the turn is over."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Self

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
JOIN_SECONDS = 1.0


@contextlib.contextmanager
def heartbeat(
    services: Services, session: Session, place: Place, progress: LiveProgress | None = None
) -> Iterator[Cancellation]:
    """Renew the lease of the session's turn while the body runs. The body's request is cancelled once that is refused.

    A failed beat is safe: the commit checks the lease. Raises RuntimeError if there is no thread to renew it in: another
    process would take the turn over, and ask the agent again.
    """
    every = min(RENEW_EVERY, services.settings.turn_lease / 1000 / RENEWALS_PER_LEASE)
    cancellation, beats = Cancellation(), Beats()

    def cancel() -> None:
        log.info("session %s: its turn is over, so the agent's request is cancelled", session.id)
        cancellation.cancel()
        beats.end()

    def renew() -> None:
        if not services.store.turns.renew(session, lease_until=services.clock.now() + services.settings.turn_lease):
            cancel()

    def show_progress() -> None:
        if progress is not None and not progress.show():
            cancel()

    def show_typing() -> None:
        services.platforms.get(place.platform).typing(place)

    with beats:
        beats.repeat(renew, every)
        with contextlib.suppress(RuntimeError):  # the turn goes on without what is only shown
            if not place.is_cli:
                beats.repeat(show_typing, min(TYPING_EVERY, every), first=TYPING_AFTER)
            if progress is not None:
                beats.repeat(show_progress, SHOW_EVERY / 1000)
        yield cancellation


class Beats:
    """Repeats each beat in a thread of its own until the end, whatever it raises: one that hangs delays no other."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Start no further beats, and wait for those that run, up to a second for each."""
        self.end()
        for thread in self._threads:
            thread.join(JOIN_SECONDS)

    def repeat(self, beat: Callable[[], None], every: float, *, first: float | None = None) -> None:
        """Run `beat` each `every` seconds from now on; the first time after `first` seconds, if it is given.

        Raises RuntimeError if no thread can be started.
        """
        pause = every if first is None else first
        thread = threading.Thread(target=lambda: self._run(beat, pause, every), name="beat", daemon=True)
        thread.start()
        self._threads.append(thread)

    def end(self) -> None:
        """Start no further beats. Beats may call it."""
        self._over.set()

    def _run(self, beat: Callable[[], None], pause: float, every: float) -> None:
        while not self._over.wait(pause):
            try:
                beat()
            except Exception as trouble:  # noqa: BLE001  # callers check what was done before they rely on it
                log.warning("a beat failed: %s", type(trouble).__name__)
            pause = every
