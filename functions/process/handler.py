"""The `process` function: records of the Handoffs stream that are pending."""

import logging
from typing import Any

from shared.bootstrap import Handler, on_lambda
from shared.services import Services
from shared.use_cases.process_handoff import process_handoff

log = logging.getLogger(__name__)


def build(services: Services) -> Handler:
    """The handler of stream batches for these services; a record that fails does not take its neighbours along."""

    def handle(event: Any, _: Any) -> Any:
        failures = []
        for record in event["Records"]:
            handoff_id = record["dynamodb"]["Keys"]["handoff_id"]["S"]
            try:
                process_handoff(services, handoff_id)
            except Exception:  # whatever it is, the stream tries this record again
                log.exception("handoff %s: an attempt broke off", handoff_id)
                failures.append({"itemIdentifier": record["dynamodb"]["SequenceNumber"]})
        return {"batchItemFailures": failures}

    return handle


handler = on_lambda(build, clients=("dynamodb", "sqs", "ssm"), platforms=True)
