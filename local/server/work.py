"""All work that goes on beside requests: pending handoffs, turns, runs of the agent, the sweep."""

import functools
import logging
import time
from collections.abc import Callable

from local.server.composition import Engine, WatchedQueue
from local.server.pool import Lanes, Pool
from local.server.workers import HandoffWorkers, Outage, QueueWorkers, Sweeper
from shared.backoff import backoff
from shared.errors import DataFileError
from shared.ports.queue_text import message_of, run_of
from shared.services import Services
from shared.sqlite.queues import Received, SqliteQueue, SqliteVisibility
from shared.use_cases.handoffs.process_handoff import process_handoff
from shared.use_cases.recovery.sweep import sweep
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.run_for_agent import run_for_agent
from shared.use_cases.turns.run_turn import DELIVERY_SECONDS, leave_to_newer, run_turn

RUN_THREADS = 128
"""Most of the time they wait for an agent."""
TURN_THREADS = HANDOFF_THREADS = 32
"""For each platform, so that one that hangs holds up no other. They wait for it, for shorter times than for an agent. More
of them take turns at one processor, and keep memory."""
IDLE_SECONDS = 10.0
"""An idle thread keeps the memory of its stack."""
log = logging.getLogger(__name__)
AGENT_MILLISECONDS = 900_000
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


class Work:
    """The workers of one engine. `handoffs` takes handoffs before the engine is there, and before `start`."""

    def __init__(self) -> None:
        self._handoff_lanes = Lanes(HANDOFF_THREADS, "handoff", idle_seconds=IDLE_SECONDS)
        self._outage = Outage()
        self.handoffs = HandoffWorkers(self._handoff_lanes, self._process, self._outage)
        self._pools: list[Pool] = []
        self._queues: list[QueueWorkers] = []

    def attach(self, engine: Engine) -> None:
        """Before `start`. The engine tells `handoffs` what it writes, so it is built second."""
        services = self._services = engine.services
        for lane, turns in engine.turns.items():
            run = functools.partial(turn_message, services, turns.queue)
            self._add(turns, run, TURN_THREADS, f"turn-{lane or 'other'}", lane)
        self._add(engine.runs, functools.partial(run_message, services, engine.runs.queue), RUN_THREADS, "agent", None)

        def tidy() -> None:
            sweep(services)
            engine.expire()

        self._sweeper = Sweeper(tidy, self._outage)

    def start(self) -> None:
        """Handoffs that are told to `handoffs` are processed from now on; messages in the queues are run."""
        for queue in self._queues:
            queue.start()
        self._sweeper.start()

    def stop(self, seconds: float) -> bool:
        """Begin nothing more, and wait for what runs; False if some of it still does."""
        deadline = time.monotonic() + seconds
        self.handoffs.stop()
        for queue in self._queues:
            queue.stop(0.0)  # all of them, before one is waited for
        for queue in self._queues:
            queue.stop(min(1.0, deadline - time.monotonic()))
        pools = [*self._handoff_lanes.all(), *self._pools]
        has_swept = self._sweeper.stop(deadline - time.monotonic())
        return all([has_swept, *(pool.wait_idle(deadline - time.monotonic()) for pool in pools)])

    def _add(
        self, watched: WatchedQueue, run: Callable[[Received], None], threads: int, name: str, lane: str | None
    ) -> None:
        """Workers for the messages of a queue, in threads of their own."""
        pool = Pool(threads, name, lambda: workers.freed(), idle_seconds=IDLE_SECONDS, lane=lane)  # noqa: PLW0108  # made below
        clock = self._services.clock
        workers = QueueWorkers(watched.queue, clock, watched.changed, pool, run, outage=self._outage)
        self._pools.append(pool)
        self._queues.append(workers)

    def _process(self, handoff_id: str) -> None:
        process_handoff(self._services, handoff_id)


def turn_message(services: Services, queue: SqliteQueue, received: Received) -> None:
    """Run a message of a place, and delete it when it is done. Raises unexpected errors; it then comes again.

    Raises DataFileError and leaves the message as it is: its caller waits for the file, and repeats it.
    """
    budget = TurnBudget(
        SqliteVisibility(queue, received.receipt),
        deadline=services.clock.now() + DELIVERY_SECONDS * 1000,
        tries=received.receives,
    )
    try:
        message = message_of(received.body)
    except ValueError:
        leave_to_newer(budget, received.receipt)
        return
    try:
        is_done = run_turn(services, message, budget)
    except DataFileError:
        raise
    except Exception:
        queue.set_visibility(received.receipt, _pause(received))
        raise
    if is_done:
        queue.done(received.receipt)


def run_message(services: Services, queue: SqliteQueue, received: Received) -> None:
    """Let the agent take a turn. Raises unexpected errors; the run then comes again. Raises DataFileError as above."""
    try:
        run = run_of(received.body)
    except ValueError:
        # A newer version sent it. Left in the queue it would return late; the sweep sends another run.
        log.error("queue message %s cannot be read by this version", received.receipt)  # noqa: TRY400  # a traceback adds nothing
    else:
        try:
            run_for_agent(services, run, remaining=AGENT_MILLISECONDS)
        except DataFileError:
            raise
        except Exception:
            queue.set_visibility(received.receipt, _pause(received))
            raise
    queue.done(received.receipt)


def _pause(received: Received) -> float:
    return backoff(received.receives, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
