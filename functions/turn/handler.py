"""The `turn` function: messages of the Turns queue, one at a time."""

from typing import Any

from shared.bootstrap import Handler, on_lambda
from shared.log_redaction import redacted
from shared.ports.queue_text import message_of
from shared.services import Services
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.run_turn import DELIVERY_SECONDS, leave_to_newer, run_turn


def build(services: Services) -> Handler:
    """The handler of queue events for these services."""

    def handle(event: Any, context: Any) -> Any:
        failures = [record["messageId"] for record in event["Records"] if not _run(services, record, context)]
        return {"batchItemFailures": [{"itemIdentifier": failure} for failure in failures]}

    return handle


def _run(services: Services, record: Any, context: Any) -> bool:
    most = DELIVERY_SECONDS * 1000
    budget = TurnBudget(
        services.visibility(record["receiptHandle"]),
        deadline=services.clock.now() + min(most, context.get_remaining_time_in_millis() // 2),
        tries=int(record["attributes"]["ApproximateReceiveCount"]),
    )
    try:
        message = message_of(record["body"])
    except ValueError:
        return leave_to_newer(budget, record["messageId"])
    try:
        return run_turn(services, message, budget)
    except Exception as error:  # noqa: BLE001  # raised again without its text, because the Lambda runtime logs it
        raise redacted(error) from None


handler = on_lambda(build, clients=("dynamodb", "sqs", "ssm"), platforms=True)
