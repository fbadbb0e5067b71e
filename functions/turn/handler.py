"""The `turn` function: wake-ups of the Turns queue, one at a time."""

import math
from typing import Any

from shared.bootstrap import Handler, on_lambda
from shared.errors import Conflict, NotYet
from shared.log_redaction import redacted
from shared.ports.queue_text import message_of
from shared.services import Services
from shared.use_cases.turns.run_turn import run_turn

RESERVE = 60_000
"""What is left of the function's time for commit and delivery once the agent must have answered."""
CONFLICT_PAUSE = 1


def build(services: Services) -> Handler:
    """The handler of queue events for these services."""

    def handle(event: Any, context: Any) -> Any:
        failures = [record["messageId"] for record in event["Records"] if not _run(services, record, context)]
        return {"batchItemFailures": [{"itemIdentifier": failure} for failure in failures]}

    return handle


def _run(services: Services, record: Any, context: Any) -> bool:
    """Run one wake-up; False leaves it to the queue, to come back when its visibility says."""
    visibility = services.visibility(record["receiptHandle"])
    remaining = context.get_remaining_time_in_millis()
    deadline = services.clock.now() + max(remaining - RESERVE, remaining // 2)
    tries = int(record["attributes"]["ApproximateReceiveCount"])
    try:
        run_turn(services, message_of(record["body"]), visibility=visibility, deadline=deadline, tries=tries)
    except NotYet as later:
        visibility.set(math.ceil(later.pause(tries)))
        return False
    except Conflict:
        visibility.set(CONFLICT_PAUSE)
        return False
    except Exception as error:  # noqa: BLE001  # raised again, without its text: the runtime logs it
        raise redacted(error) from None
    return True


handler = on_lambda(build, clients=("dynamodb", "sqs", "ssm"), platforms=True)
