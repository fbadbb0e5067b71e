"""Reading a table's stream: an iterator is a position in a shard and nothing that has to be remembered.

moto hands out objects that point at one shard object: they go blind once a cancelled transaction has replaced
the table, and none is ever freed.
"""

from dataclasses import dataclass
from typing import Any

from moto.core.exceptions import ServiceException
from moto.dynamodbstreams.models import DynamoDBStreamsBackend

from local.cloud.moto_patches.streams import FIRST, Shard, TableStream


class TrimmedDataAccessException(ServiceException):  # type: ignore[misc] # moto has no types
    code = "TrimmedDataAccessException"
    message = "The requested records are older than the oldest that the stream keeps."


@dataclass(frozen=True)
class Position:
    """Where to read on; `arn` is the whole of it, in the one string that the client gives back."""

    stream: str
    shard: str
    sequence: int

    @property
    def arn(self) -> str:
        return f"{self.stream}|{self.shard}|{self.sequence}"

    @classmethod
    def parse(cls, arn: str) -> "Position":
        stream, shard, sequence = arn.split("|")
        return cls(stream, shard, int(sequence))


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
        "Shards": [
            {"ShardId": shard.id, "SequenceNumberRange": {"StartingSequenceNumber": str(FIRST)}}
            for shard in stream.shards.values()
        ],
    }


def get_shard_iterator(
    self: DynamoDBStreamsBackend, arn: str, shard_id: str, shard_iterator_type: str, sequence_number: int | None = None
) -> Position:
    stream: TableStream = self._get_table_from_arn(arn).stream_shard
    starts = {
        "TRIM_HORIZON": lambda: stream.shards[shard_id].oldest,
        "LATEST": lambda: stream.next,
        "AT_SEQUENCE_NUMBER": lambda: int(sequence_number or 0),
        "AFTER_SEQUENCE_NUMBER": lambda: int(sequence_number or 0) + 1,
    }
    return Position(arn, shard_id, starts[shard_iterator_type]())


def get_records(self: DynamoDBStreamsBackend, iterator_arn: str, limit: int) -> dict[str, Any]:
    position = Position.parse(iterator_arn)
    stream: TableStream = self._get_table_from_arn(position.stream).stream_shard
    shard = stream.shards[position.shard]
    if _is_trimmed(shard, position.sequence):
        raise TrimmedDataAccessException
    entries = shard.read(position.sequence, limit)
    after = entries[-1][0] + 1 if entries else position.sequence
    return {
        "NextShardIterator": Position(position.stream, position.shard, after).arn,
        "Records": [record for _, record in entries],
    }


def _is_trimmed(shard: Shard, sequence: int) -> bool:
    full = len(shard.entries) == shard.entries.maxlen
    return full and sequence < shard.oldest


def apply() -> None:
    DynamoDBStreamsBackend.describe_stream = describe_stream
    DynamoDBStreamsBackend.get_shard_iterator = get_shard_iterator
    DynamoDBStreamsBackend.get_records = get_records
