"""What a write leaves in a table's stream: one record per changed item, none for a write that changes nothing.

moto writes two INSERTs for an upsert and a MODIFY for an identical put, leaves the records of cancelled
transactions, calls event source mappings synchronously from the write and clears the stream afterwards, and
keeps every record for ever.
"""

import threading
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from moto.core.utils import utcnow
from moto.dynamodb.models import table as moto_tables
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import StreamRecord, Table

SHARDS = 4  # what AWS gives a new on-demand table: order holds within a shard, and so per item, but not across
KEPT = 10_000  # records per shard; AWS keeps those of a day
FIRST = 1_100_000_000_017_454_423_009  # AWS counts its records from numbers of this size

Change = tuple[Item | None, Item | None]
Entry = tuple[int, dict[str, Any]]


class Writes:
    """Counts the records of one account, so that a reader can wait for the next instead of asking in a loop."""

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


class Shard:
    """The latest records of some of a table's items, in order."""

    def __init__(self, number: int) -> None:
        self.id = f"shardId-{number:020d}-00000000"
        self.entries: deque[Entry] = deque(maxlen=KEPT)

    @property
    def oldest(self) -> int:
        return self.entries[0][0] if self.entries else FIRST

    def read(self, position: int, limit: int) -> list[Entry]:
        return list(islice((entry for entry in self.entries if entry[0] >= position), limit))


class TableStream:
    """Takes the place of moto's StreamShard; moto's tables call `add` on each write."""

    def __init__(self, account_id: str, table: Table) -> None:
        self.account_id = account_id
        self.table = table
        self.created_on = utcnow()
        self.shards = {shard.id: shard for shard in map(Shard, range(SHARDS))}
        self.next = FIRST
        self._held: list[Change] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> "TableStream":
        return TableStream(self.account_id, self.table)  # a backup carries items, not their history

    def add(self, old: Item | None, new: Item | None) -> None:
        if self._held is None:
            self._record(old, new)
        else:
            self._held.append((old, new))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold changes back: record one per item when the block ends well, none when it raises."""
        if self._held is not None:  # an update inside a transaction: the transaction decides
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
        self._shard_of(old if new is None else new).entries.append((self.next, record))
        self.next += 1
        WRITES.setdefault(self.account_id, Writes()).add()

    def _shard_of(self, item: Item) -> Shard:
        return list(self.shards.values())[zlib.crc32(str(item.hash_key.value).encode()) % SHARDS]


def _one_per_item(changes: list[Change]) -> list[Change]:
    """Fold the steps that moto takes for one item into one change: what was there first, what is there last."""
    folded: dict[tuple[Any, Any], Change] = {}
    for old, new in changes:
        item: Any = old if old is not None else new
        key = (item.hash_key, item.range_key)
        folded[key] = (folded[key][0] if key in folded else old, new)
    return [change for change in folded.values() if change[0] is not None or change[1] is not None]


def apply() -> None:
    moto_tables.StreamShard = TableStream
