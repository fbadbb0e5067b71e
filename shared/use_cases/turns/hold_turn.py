"""The lease of a session's one turn: take it, renew it while the agent works, release it."""

import contextlib
import logging
import math
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from shared.domain.interruptions import begin_turn, end_turn
from shared.domain.routes import Place
from shared.domain.sessions import Interruption, Session, TurnLease
from shared.errors import Busy, Conflict, HandoffError
from shared.ports.queue import Visibility
from shared.services import Services
from shared.use_cases.retry import on_conflict

log = logging.getLogger(__name__)
TYPING_EVERY = 4.0
RENEWALS_PER_LEASE = 3


def hold_seconds(services: Services) -> int:
    """The visibility time-out of a running turn's message: as long as its lease."""
    return math.ceil(services.settings.turn_lease / 1000)


def start_turn(services: Services, session: Session, *, counts: bool, accepted: Collection[str] = ()) -> Session:
    """Take the turn's lease. Raises Busy while another turn is alive, Conflict if the session changed.

    `accepted` are the ids under which the messages of this turn were accepted, so that it does not wait for itself.
    """
    now = services.clock.now()
    refuse_live_turn(services, session, accepted=accepted)
    begun = begin_turn(session, run_id=services.new_id(), now=now, lease=services.settings.turn_lease, counts=counts)
    return services.store.sessions.replace(session, begun)


def refuse_live_turn(services: Services, session: Session, *, accepted: Collection[str]) -> None:
    """Raise Busy while another turn than those `accepted` is alive."""
    now = services.clock.now()
    if session.turn is not None and session.has_live_turn(now) and session.turn.id not in accepted:
        raise Busy((session.turn.lease_until - now) / 1000)


@contextlib.contextmanager
def mark_if_broken(services: Services, session: Session) -> Iterator[None]:
    """Mark the session if the turn fails unexpectedly: the queue will deliver the same message again."""
    try:
        yield
    except HandoffError:
        raise
    except Exception:
        with contextlib.suppress(Exception):  # raise the first error, not one of the clean-up
            release(services, session, interrupted=Interruption.REDELIVERED)
        raise


def release(
    services: Services,
    session: Session,
    *,
    uncount: bool = False,
    interrupted: Interruption | None = None,
    waiting: TurnLease | None = None,
    failed_turn: str | None = None,
) -> None:
    """End a turn that committed nothing, if the session is still under it; after a move only its strike is undone.

    `failed_turn` counts a try of the agent. `waiting` replaces the lease: a terminal's accepted turn keeps its session
    busy until the next try.
    """
    mine = session.turn

    def end() -> None:
        current = services.store.sessions.get(session.id)
        if current is None or mine is None:
            return
        ended_by_a_move = current.turn is None and current.epoch != session.epoch
        if (current.turn is None or current.turn.id != mine.id) and not (uncount and ended_by_a_move):
            return
        ended = end_turn(
            current, now=services.clock.now(), uncount=uncount, interrupted=interrupted, failed_turn=failed_turn
        )
        services.store.sessions.replace(current, replace(ended, turn=None if ended_by_a_move else waiting))

    with contextlib.suppress(Conflict):
        on_conflict(end)


@contextlib.contextmanager
def heartbeat(services: Services, session: Session, place: Place, visibility: Visibility) -> Iterator[None]:
    """While the body runs, show typing and renew the lease and the visibility time-out before they expire.

    Typing and renewals have a thread each, so that a platform that hangs delays no renewal.
    """
    every = services.settings.turn_lease / 1000 / RENEWALS_PER_LEASE
    stop = threading.Event()

    def extend_lease() -> None:
        services.store.turns.extend(session, until=services.clock.now() + services.settings.turn_lease)

    def stay_hidden() -> None:
        visibility.set(hold_seconds(services))

    def show_typing() -> None:
        services.platforms.get(place.platform).typing(place)

    threads = [_repeat(stop, every, extend_lease, stay_hidden)]
    if not place.is_cli:
        threads.append(_repeat(stop, min(TYPING_EVERY, every), show_typing, at_once=True))
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=1)


def _repeat(stop: threading.Event, every: float, *beats: Callable[[], None], at_once: bool = False) -> threading.Thread:
    """Run `beats` each so many seconds until `stop`, in a thread that survives any error: the next beat may succeed."""

    def beat_on() -> None:
        pause = 0.0 if at_once else every
        while not stop.wait(pause):
            pause = every
            for beat in beats:
                try:
                    beat()
                except Exception as trouble:  # noqa: BLE001  # a lost lease fails the commit, so nothing else is at stake
                    log.warning("a heartbeat of a turn failed: %s", type(trouble).__name__)

    thread = threading.Thread(target=beat_on, name="turn-heartbeat", daemon=True)
    thread.start()
    return thread
