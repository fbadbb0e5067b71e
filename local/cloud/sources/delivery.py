"""Delivers one batch of stream records: partial failures, retries, bisection, maximum age, discarding."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from local.cloud.invoke import Result
from local.cloud.sources.partial import failed_ids
from local.cloud.sources.record import Record
from local.cloud.stack import StreamMapping

Batch = Sequence[Record]

# A batch that fails as a whole, with bisection and one retry; x always fails:
#
#   [a b x d]  fails     → halves; bisection does not count as a retry
#   [a b]      succeeds
#   [x d]      fails     → halves
#   [x]        fails     → retried after a pause, fails → on-failure queue
#   [d]        succeeds


@dataclass(frozen=True)
class Discarded:
    """Records that will not be delivered again: the reason, the number of invocations and the last result."""

    records: Batch
    condition: str
    invocations: int
    result: Result | None


@dataclass(frozen=True)
class _Piece:
    records: Batch
    failures: int
    result: Result | None = None


def growing_pause(failures: int) -> float:
    """Return the seconds before the next attempt: 0.1, 0.2, 0.4, ... at most 5."""
    return float(min(0.1 * 2 ** min(failures - 1, 10), 5.0))


class Delivery:
    """Delivers batches in order. `pause(seconds)` returns False when the source stops; then the rest is not delivered."""

    def __init__(
        self,
        mapping: StreamMapping,
        *,
        invoke: Callable[[Batch], Result],
        discard: Callable[[Discarded], None],
        now: Callable[[], float],
        pause: Callable[[float], bool],
    ) -> None:
        self._mapping = mapping
        self._invoke = invoke
        self._discard = discard
        self._now = now
        self._pause = pause

    def deliver(self, records: Batch) -> None:
        """Return when every record was processed or discarded."""
        pieces = deque([_Piece(records, 0)])
        while pieces:
            piece = self._without_expired(pieces.popleft())
            if not piece.records:
                continue
            rest = self._attempt(piece)
            if rest and rest[0].failures > piece.failures and not self._pause(growing_pause(rest[0].failures)):
                return
            pieces.extendleft(reversed(rest))

    def _attempt(self, piece: _Piece) -> list[_Piece]:
        """Invoke the function once; return what remains, in order."""
        result = self._invoke(piece.records)
        ids = [record.sequence for record in piece.records]
        failed = failed_ids(result, ids, partial_failures=self._mapping.partial_failures)
        first = next((at for at, sequence in enumerate(ids) if sequence in failed), None)
        if first is None:
            return []
        if first > 0:  # the records before it succeeded; the rest is a new batch that has failed once
            return self._retry(_Piece(piece.records[first:], 1, result))
        if self._mapping.bisect and len(ids) > 1:
            middle = len(ids) // 2
            halves = piece.records[:middle], piece.records[middle:]
            return [_Piece(half, piece.failures, result) for half in halves]
        return self._retry(_Piece(piece.records, piece.failures + 1, result))

    def _retry(self, piece: _Piece) -> list[_Piece]:
        limit = self._mapping.max_retries
        if limit < 0 or piece.failures <= limit:
            return [piece]
        self._discard(Discarded(piece.records, "RetryAttemptsExhausted", piece.failures, piece.result))
        return []

    def _without_expired(self, piece: _Piece) -> _Piece:
        """Discard the records that are too old. They are at the front: a batch is ordered by time."""
        limit = self._mapping.max_age_seconds
        young = [at for at, one in enumerate(piece.records) if limit < 0 or self._now() - one.created_at <= limit]
        first = young[0] if young else len(piece.records)
        if first > 0:
            self._discard(Discarded(piece.records[:first], "RecordAgeExceeded", piece.failures, piece.result))
        return _Piece(piece.records[first:], piece.failures, piece.result)


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
