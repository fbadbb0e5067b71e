"""Sends Lambda's message about discarded stream records to the on-failure queue."""

import itertools
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from local.cloud.sources.delivery import Discarded, growing_pause


class OnFailureQueue:
    """The on-failure destination of a mapping. `pause(seconds)` returns False when the source stops."""

    def __init__(
        self,
        client: Any,
        url: str,
        *,
        function_arn: str,
        stream_arn: str,
        on_error: Callable[[Exception], None],
        pause: Callable[[float], bool],
    ) -> None:
        self._client = client
        self._url = url
        self._function_arn = function_arn
        self._stream_arn = stream_arn
        self._on_error = on_error
        self._pause = pause

    def send(self, discarded: Discarded, shard_id: str, now: float) -> None:
        """Send the message; retry until it succeeds or the source stops."""
        message = failure_message(
            discarded, function_arn=self._function_arn, stream_arn=self._stream_arn, shard_id=shard_id, now=now
        )
        for failures in itertools.count(1):
            try:
                self._client.send_message(QueueUrl=self._url, MessageBody=json.dumps(message))
            except Exception as error:  # noqa: BLE001 - reported and retried
                self._on_error(error)
                if not self._pause(growing_pause(failures)):
                    return
            else:
                return


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
