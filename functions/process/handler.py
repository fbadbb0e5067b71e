"""The `process` function: records of the Handoffs stream that are pending."""

from typing import Any

from shared.bootstrap import Handler, on_lambda
from shared.services import Services
from shared.use_cases.handoffs.process_batch import process_batch


def build(services: Services) -> Handler:
    """The handler of stream batches for these services."""

    def handle(event: Any, _: Any) -> Any:
        numbers: dict[str, list[str]] = {}  # several records of one handoff are processed once
        for record in event["Records"]:
            change = record["dynamodb"]
            numbers.setdefault(change["Keys"]["handoff_id"]["S"], []).append(change["SequenceNumber"])
        failed = process_batch(services, numbers.keys())
        failures = [number for handoff_id in numbers if handoff_id in failed for number in numbers[handoff_id]]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in failures]}

    return handle


handler = on_lambda(build, clients=("dynamodb", "sqs", "ssm"), platforms=True)
