"""The lease of a session's one turn: take it, renew it while the agent works, release it."""

import contextlib
import itertools
import logging
import math
import threading
from collections.abc import Callable, Iterator
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


def start_turn(services: Services, session: Session, *, counts: bool, accepted: str | None = None) -> Session:
    """Take the turn's lease. Raises Busy while another turn is alive, Conflict if the session changed.

    `accepted` is the id under which this turn was accepted, so that it does not wait for itself.
    """
    now = services.clock.now()
    refuse_live_turn(services, session, accepted=accepted)
    begun = begin_turn(session, run_id=services.new_id(), now=now, lease=services.settings.turn_lease, counts=counts)
    return services.store.sessions.replace(session, begun)


def refuse_live_turn(services: Services, session: Session, *, accepted: str | None) -> None:
    """Raise Busy while another turn than `accepted` is alive."""
    now = services.clock.now()
    if session.turn is not None and session.has_live_turn(now) and session.turn.id != accepted:
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
) -> None:
    """End a turn that committed nothing, if the session is still under it; after a move only its strike is undone.

    `waiting` replaces the lease: a terminal's accepted turn keeps its session busy until the next try.
    """
    mine = session.turn

    def end() -> None:
        current = services.store.sessions.get(session.id)
        if current is None or mine is None:
            return
        ended_by_a_move = current.turn is None and current.epoch != session.epoch
        if (current.turn is None or current.turn.id != mine.id) and not (uncount and ended_by_a_move):
            return
        ended = end_turn(current, now=services.clock.now(), uncount=uncount, interrupted=interrupted)
        services.store.sessions.replace(current, replace(ended, turn=None if ended_by_a_move else waiting))

    with contextlib.suppress(Conflict):
        on_conflict(end)


@contextlib.contextmanager
def heartbeat(services: Services, session: Session, place: Place, visibility: Visibility) -> Iterator[None]:
    """While the body runs, show typing and renew the lease and the visibility time-out before they expire."""
    every = services.settings.turn_lease / 1000 / RENEWALS_PER_LEASE
    stop = threading.Event()

    def renew() -> None:
        services.store.turns.extend(session, until=services.clock.now() + services.settings.turn_lease)
        visibility.set(hold_seconds(services))

    def beat() -> None:
        pause = min(TYPING_EVERY, every)
        typings, renewals = max(1, int(TYPING_EVERY / pause)), max(1, int(every / pause))
        show_typing = _typing(services, place)
        for beats in itertools.count():
            if beats % typings == 0:
                show_typing()
            if beats and beats % renewals == 0:
                _ignoring_errors(renew)
            if stop.wait(pause):
                return

    beating = threading.Thread(target=beat, name="turn-heartbeat", daemon=True)
    beating.start()
    try:
        yield
    finally:
        stop.set()
        beating.join(timeout=1)


def _typing(services: Services, place: Place) -> Callable[[], None]:
    if place.is_cli:
        return lambda: None
    platform = services.platforms.get(place.platform)
    return lambda: platform.typing(place)


def _ignoring_errors(renew: Callable[[], None]) -> None:
    """Ignore a failed renewal: the next one may succeed, and a lost lease fails the commit."""
    try:
        renew()
    except Exception as trouble:  # noqa: BLE001  # the heartbeat must outlive any single failure
        log.warning("a turn could not renew its lease: %s", type(trouble).__name__)
