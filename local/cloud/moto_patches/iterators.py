"""Makes stream iterators stateless: an iterator is a position in the stream.

moto keeps an object per iterator that points at one shard object: it sees no more records after a cancelled transaction
has replaced the table, and is never freed.
"""

from dataclasses import dataclass
from typing import Any

from moto.core.exceptions import ServiceException
from moto.dynamodbstreams.models import DynamoDBStreamsBackend

from local.cloud.moto_patches.streams import FIRST, SHARD, TableStream


class TrimmedDataAccessException(ServiceException):  # type: ignore[misc] # moto has no types
    code = "TrimmedDataAccessException"
    message = "The requested records are older than the oldest record of the stream."


@dataclass(frozen=True)
class Position:
    """Where to continue reading. `arn` is the iterator that the client sends back."""

    stream: str
    sequence: int

    @property
    def arn(self) -> str:
        return f"{self.stream}|{self.sequence}"

    @classmethod
    def parse(cls, arn: str) -> "Position":
        stream, sequence = arn.split("|")
        return cls(stream, int(sequence))


def describe_stream(self: DynamoDBStreamsBackend, arn: str) -> dict[str, Any]:
    table = self._get_table_from_arn(arn)
    stream: TableStream = table.stream_shard
    return {
        "StreamArn": arn,
        "StreamLabel": table.latest_stream_label,
        "StreamStatus": "ENABLED",
        "StreamViewType": table.stream_specification["StreamViewType"],
        "CreationRequestDateTime": stream.created_on,
        "TableName": table.name,
        "KeySchema": table.schema,
        "Shards": [{"ShardId": SHARD, "SequenceNumberRange": {"StartingSequenceNumber": str(FIRST)}}],
    }


def get_shard_iterator(
    self: DynamoDBStreamsBackend, arn: str, _shard_id: str, shard_iterator_type: str, sequence_number: int | None = None
) -> Position:
    stream: TableStream = self._get_table_from_arn(arn).stream_shard
    starts = {
        "TRIM_HORIZON": lambda: stream.oldest,
        "LATEST": lambda: stream.next,
        "AT_SEQUENCE_NUMBER": lambda: int(sequence_number or 0),
        "AFTER_SEQUENCE_NUMBER": lambda: int(sequence_number or 0) + 1,
    }
    return Position(arn, starts[shard_iterator_type]())


def get_records(self: DynamoDBStreamsBackend, iterator_arn: str, limit: int) -> dict[str, Any]:
    position = Position.parse(iterator_arn)
    stream: TableStream = self._get_table_from_arn(position.stream).stream_shard
    if len(stream.entries) == stream.entries.maxlen and position.sequence < stream.oldest:
        raise TrimmedDataAccessException
    entries = stream.read(position.sequence, limit)
    after = entries[-1][0] + 1 if entries else position.sequence
    return {
        "NextShardIterator": Position(position.stream, after).arn,
        "Records": [record for _, record in entries],
    }


def apply() -> None:
    DynamoDBStreamsBackend.describe_stream = describe_stream
    DynamoDBStreamsBackend.get_shard_iterator = get_shard_iterator
    DynamoDBStreamsBackend.get_records = get_records
