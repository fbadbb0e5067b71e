"""One message of a queue, as the functions `turn` and `agent` run it on AWS."""

import logging

from shared.backoff import backoff
from shared.errors import DataFileError
from shared.ports.queue_text import message_of, run_of
from shared.services import Services
from shared.sqlite.queues import Received, SqliteQueue
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.execute_turn import execute_turn
from shared.use_cases.turns.run_turn import DELIVERY_SECONDS, leave_to_newer, run_turn

log = logging.getLogger(__name__)
AGENT_MILLISECONDS = 900_000
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


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
