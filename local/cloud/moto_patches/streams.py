"""Writes one stream record per changed item, none for a write that changes nothing.

moto writes two INSERTs for an upsert by UpdateItem and a MODIFY for an identical put, keeps the records of cancelled
transactions, calls event source mappings synchronously from the write and clears the stream afterwards, and never
deletes a record.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from moto.core.utils import utcnow
from moto.dynamodb.models import table as moto_tables
from moto.dynamodb.models.dynamo_type import Item
from moto.dynamodb.models.table import StreamRecord, Table

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


def apply() -> None:
    moto_tables.StreamShard = TableStream
