"""All work that goes on beside requests: pending handoffs, turns, runs of the agent, the sweep."""

import logging
import time

from local.server.composition import Engine
from local.server.pool import Pool
from local.server.workers import HandoffWorkers, Outage, QueueWorkers, Sweeper
from shared.backoff import backoff
from shared.errors import DataFileError
from shared.ports.queue_text import message_of, run_of
from shared.services import Services
from shared.sqlite.queues import Received, SqliteQueue
from shared.use_cases.handoffs.process_handoff import process_handoff
from shared.use_cases.recovery.sweep import sweep
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.execute_turn import execute_turn
from shared.use_cases.turns.run_turn import DELIVERY_SECONDS, leave_to_newer, run_turn

RUN_THREADS = 128
"""Most of the time they wait for an agent."""
TURN_THREADS = HANDOFF_THREADS = 32
"""They wait for a platform, for shorter times. More of them take turns at one processor, and keep memory."""
IDLE_SECONDS = 10.0
"""An idle thread keeps the memory of its stack."""
log = logging.getLogger(__name__)
AGENT_MILLISECONDS = 900_000
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


class Work:
    """The workers of one engine. `handoffs` takes handoffs before the engine is there, and before `start`."""

    def __init__(self) -> None:
        self._handoff_pool = Pool(HANDOFF_THREADS, "handoff", idle_seconds=IDLE_SECONDS)
        self._outage = Outage()
        self.handoffs = HandoffWorkers(self._handoff_pool, self._process, self._outage)

    def attach(self, engine: Engine) -> None:
        """Before `start`. The engine tells `handoffs` what it writes, so it is built second."""
        services = self._services = engine.services
        self._turn_pool = Pool(TURN_THREADS, "turn", lambda: turns.freed(), idle_seconds=IDLE_SECONDS)  # noqa: PLW0108  # made below
        self._run_pool = Pool(RUN_THREADS, "agent", lambda: runs.freed(), idle_seconds=IDLE_SECONDS)  # noqa: PLW0108
        turns = QueueWorkers(
            engine.turns,
            services.clock,
            engine.turns_changed,
            self._turn_pool,
            lambda received: turn_message(services, engine.turns, received),
            outage=self._outage,
        )
        runs = QueueWorkers(
            engine.runs,
            services.clock,
            engine.runs_changed,
            self._run_pool,
            lambda received: run_message(services, engine.runs, received),
            outage=self._outage,
        )
        self._queues = [turns, runs]

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
            queue.stop()
        pools = (self._handoff_pool, self._turn_pool, self._run_pool)
        has_swept = self._sweeper.stop(deadline - time.monotonic())
        return all([has_swept, *(pool.wait_idle(deadline - time.monotonic()) for pool in pools)])

    def _process(self, handoff_id: str) -> None:
        process_handoff(self._services, handoff_id)


def turn_message(services: Services, queue: SqliteQueue, received: Received) -> None:
    """Run a message of a place, and delete it when it is done. Raises unexpected errors; it then comes again.

    Raises DataFileError and leaves the message as it is: its caller waits for the file, and repeats it.
    """
    budget = TurnBudget(
        services.visibility(received.receipt),
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
            execute_turn(services, run, remaining=AGENT_MILLISECONDS)
        except DataFileError:
            raise
        except Exception:
            queue.set_visibility(received.receipt, _pause(received))
            raise
    queue.done(received.receipt)


def _pause(received: Received) -> float:
    return backoff(received.receives, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
