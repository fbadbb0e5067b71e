"""Lambda's message about discarded stream records, for the on-failure queue."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from local.cloud.sources.delivery import Discarded


def failure_message(
    discarded: Discarded, *, function_arn: str, stream_arn: str, shard_id: str, now: float
) -> Mapping[str, Any]:
    """Return Lambda's message for a batch of a DynamoDB stream: the position of the records, not their content."""
    first, last = discarded.records[0], discarded.records[-1]
    request_id = discarded.result.request_id if discarded.result else ""
    message: dict[str, Any] = {
        "requestContext": {
            "requestId": request_id or str(uuid4()),
            "functionArn": function_arn,
            "condition": discarded.condition,
            "approximateInvokeCount": discarded.invocations,
        },
        "version": "1.0",
        "timestamp": _iso(now, "milliseconds"),
        "DDBStreamBatchInfo": {
            "shardId": shard_id,
            "startSequenceNumber": first.sequence,
            "endSequenceNumber": last.sequence,
            "approximateArrivalOfFirstRecord": _iso(first.created_at, "seconds"),
            "approximateArrivalOfLastRecord": _iso(last.created_at, "seconds"),
            "batchSize": len(discarded.records),
            "streamArn": stream_arn,
        },
    }
    if discarded.result is not None:
        response: dict[str, Any] = {"statusCode": 200, "executedVersion": "$LATEST"}
        if discarded.result.error is not None:
            response["functionError"] = "Unhandled"
        message["responseContext"] = response
    return message


def _iso(seconds: float, precision: str) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=precision).replace("+00:00", "Z")
