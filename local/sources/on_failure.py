"""The message that Lambda puts into the on-failure queue: where the records are, never what is in them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from local.sources.delivery import Discarded


def failure_message(
    discarded: Discarded, *, function_arn: str, stream_arn: str, shard_id: str, now: float
) -> Mapping[str, Any]:
    """Lambda's own body for a batch of a DynamoDB stream."""
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
