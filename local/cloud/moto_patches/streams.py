"""Writes one stream record per changed item, none for a write that changes nothing.

moto writes two INSERTs for an upsert by UpdateItem and a MODIFY for an identical put, keeps the records of cancelled
transactions, calls event source mappings synchronously from the write and clears the stream afterwards, and never
deletes a record. It keeps an object per iterator, which points at one shard object: it sees no more records after a
cancelled transaction has replaced the table, and is never freed. Here an iterator is a position in the stream.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from moto.core.exceptions import ServiceException
from moto.core.utils import utcnow
from moto.dynamodb.models import table as moto_tables
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import StreamRecord, Table
from moto.dynamodbstreams.models import DynamoDBStreamsBackend

SHARD = "shardId-00000000000000000000-00000000"
KEPT = 10_000  # records per stream; AWS keeps them for a day
FIRST = 1_100_000_000_017_454_423_009  # the size of AWS's sequence numbers

Change = tuple[Item | None, Item | None]
Entry = tuple[int, dict[str, Any]]


class Writes:
    """Counts the stream records of one account, so that readers can wait for the next one instead of polling."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0

    def add(self) -> None:
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    def wait(self, seen: int, timeout: float) -> int:
        """Return the count as soon as it differs from `seen`, or after `timeout` seconds."""
        with self._condition:
            self._condition.wait_for(lambda: self._count != seen, timeout)
            return self._count


WRITES: dict[str, Writes] = {}  # by account


class TableStream:
    """Replaces moto's StreamShard: the latest records of a table in one shard. moto's tables call `add` on each write."""

    def __init__(self, account_id: str, table: Table) -> None:
        self.account_id = account_id
        self.table = table
        self.created_on = utcnow()
        self.entries: deque[Entry] = deque(maxlen=KEPT)
        self.next = FIRST
        self._held: list[Change] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> "TableStream":
        return TableStream(self.account_id, self.table)  # a backup has the items, not their history

    @property
    def oldest(self) -> int:
        """The sequence number of the oldest record; a reader before it has lost records if the stream is full."""
        return self.entries[0][0] if self.entries else FIRST

    def read(self, position: int, limit: int) -> list[Entry]:
        return list(islice((entry for entry in self.entries if entry[0] >= position), limit))

    def add(self, old: Item | None, new: Item | None) -> None:
        if self._held is None:
            self._record(old, new)
        else:
            self._held.append((old, new))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Delay records: write one per item when the block succeeds, none when it raises."""
        if self._held is not None:  # an update inside a transaction, which decides for all of its items
            yield
            return
        self._held = []
        try:
            yield
            changes = _one_per_item(self._held)
        finally:
            self._held = None
        for old, new in changes:
            self._record(old, new)

    def _record(self, old: Item | None, new: Item | None) -> None:
        if old is not None and new is not None and old.attrs == new.attrs:
            return
        name = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
        view = self.table.stream_specification["StreamViewType"]
        record = StreamRecord(self.table, view, name, old, new, self.next).record
        record["awsRegion"] = self.table.region_name
        self.entries.append((self.next, record))
        self.next += 1
        WRITES.setdefault(self.account_id, Writes()).add()


def _one_per_item(changes: list[Change]) -> list[Change]:
    """Merge the steps that moto takes for one item into one change: the first old image and the last new one."""
    folded: dict[tuple[Any, Any], Change] = {}
    for old, new in changes:
        item: Any = old if old is not None else new
        key = (item.hash_key, item.range_key)
        folded[key] = (folded[key][0] if key in folded else old, new)
    return [change for change in folded.values() if change[0] is not None or change[1] is not None]


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
    moto_tables.StreamShard = TableStream
    DynamoDBStreamsBackend.describe_stream = describe_stream
    DynamoDBStreamsBackend.get_shard_iterator = get_shard_iterator
    DynamoDBStreamsBackend.get_records = get_records
