"""The `process` function: records of the Handoffs stream that are pending."""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from shared.bootstrap import Handler, on_lambda
from shared.services import Services
from shared.use_cases.handoffs.process_handoff import process_handoff

log = logging.getLogger(__name__)


def build(services: Services) -> Handler:
    """The handler of stream batches for these services: all of a batch at once, and one that fails takes no other along."""

    def handle(event: Any, _: Any) -> Any:
        handoffs: dict[str, list[str]] = {}  # several records of one handoff say the same: look at it
        for record in event["Records"]:
            change = record["dynamodb"]
            handoffs.setdefault(change["Keys"]["handoff_id"]["S"], []).append(change["SequenceNumber"])
        with ThreadPoolExecutor(max(1, len(handoffs)), thread_name_prefix="handoff") as threads:
            went_well = list(threads.map(lambda handoff_id: _process(services, handoff_id), handoffs))
        failures = [
            number for numbers, well in zip(handoffs.values(), went_well, strict=True) if not well for number in numbers
        ]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in failures]}

    return handle


def _process(services: Services, handoff_id: str) -> bool:
    try:
        process_handoff(services, handoff_id)
    except Exception:  # whatever it is, the stream tries this record again
        log.exception("handoff %s: an attempt broke off", handoff_id)
        return False
    return True


handler = on_lambda(build, clients=("dynamodb", "sqs", "ssm"), platforms=True)
