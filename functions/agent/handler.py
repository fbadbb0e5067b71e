"""The `agent` function: runs of the Runs queue, one at a time."""

import logging
from typing import Any

from shared.bootstrap import Handler, on_lambda
from shared.log_redaction import redacted
from shared.ports.queue_text import run_of
from shared.services import Services
from shared.use_cases.turns.run_for_agent import run_for_agent

log = logging.getLogger(__name__)


def build(services: Services) -> Handler:
    """The handler of queue events for these services."""

    def handle(event: Any, context: Any) -> Any:
        for record in event["Records"]:  # one: the batch size is 1
            _run(services, record, context)

    return handle


def _run(services: Services, record: Any, context: Any) -> None:
    try:
        run = run_of(record["body"])
    except ValueError:
        # A newer worker sent it. Left in the queue it would return late; the sweep sends another run.
        log.error("queue message %s cannot be read by this version", record["messageId"])  # noqa: TRY400  # a traceback adds nothing
        return
    try:
        run_for_agent(services, run, remaining=context.get_remaining_time_in_millis())
    except Exception as error:  # noqa: BLE001  # raised again without its text, because the Lambda runtime logs it
        raise redacted(error) from None


handler = on_lambda(build, clients=("dynamodb", "sqs", "ssm"), platforms=True)
