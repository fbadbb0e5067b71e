"""The `Tables` port in memory: it accepts and rejects what DynamoDB does, and evaluates conditions with `holds`."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from shared.ports.conditions import holds
from shared.ports.table_writes import applied, check_sizes
from shared.ports.tables import (
    Check,
    ConditionFailed,
    Delete,
    Index,
    Item,
    Key,
    Page,
    Put,
    Table,
    Update,
    Write,
    validate,
)

T = TypeVar("T")
_KeyValues = tuple[str, ...]
_PAGE = 100


class MemoryTables:
    """Both tables as dictionaries under one lock. Items are copied in and out."""

    def __init__(self) -> None:
        self._items: dict[Table, dict[_KeyValues, Item]] = {table: {} for table in Table}
        self._lock = threading.RLock()

    def scan(self, table: Table) -> Iterator[Item]:
        """Of one moment, which the port does not promise."""
        with self._lock:
            items = _copied(list(self._items[table].values()))
        return iter(items)

    def get(self, table: Table, key: Key) -> Item | None:
        with self._lock:
            return _copied(self._items[table].get(_values(table, key)))

    def get_many(self, table: Table, keys: Sequence[Key]) -> list[Item]:
        with self._lock:
            found = [self.get(table, key) for key in keys]
        return [item for item in found if item is not None]

    def query(
        self, pk: str, *, low: str, high: str | None = None, backwards: bool = False, page: int | None = None
    ) -> Iterator[Item]:
        """Page by page, so that writes between two pages are seen as in DynamoDB."""
        last: str | None = None
        while True:
            with self._lock:
                partition = [item for (part, _), item in self._items[Table.SESSIONS].items() if part == pk]
                rows = sorted(partition, key=lambda row: str(row["sk"]), reverse=backwards)
                left = [
                    row for row in rows if _is_between(row["sk"], low, high) and _is_behind(row["sk"], last, backwards)
                ]
                found = _copied(left[: page or _PAGE])
            yield from found
            if len(left) == len(found):
                return
            last = found[-1]["sk"]

    def index(
        self,
        index: Index,
        value: str | int,
        *,
        up_to: int | None = None,
        backwards: bool = False,
        limit: int | None = None,
        after: Item | None = None,
    ) -> Page:
        names = (index.partition, index.sort, *index.table.value)

        def position(row: Mapping[str, Any]) -> tuple[Any, ...]:
            return tuple(row[name] for name in names[1:])

        with self._lock:
            items = self._items[index.table].values()
            rows = [{name: item[name] for name in names} for item in items if all(name in item for name in names)]
        rows = [row for row in rows if row[index.partition] == value and (up_to is None or row[index.sort] <= up_to)]
        rows.sort(key=position, reverse=backwards)
        if after is not None:
            start = position(after)
            rows = [row for row in rows if (position(row) < start if backwards else position(row) > start)]
        if limit is None or len(rows) < limit:
            return Page(rows)
        return Page(rows[:limit], rows[limit - 1])

    def put(self, write: Put) -> None:
        self._write([write])

    def update(self, write: Update) -> Item:
        (after,) = self._write([write])
        return _copied(after or {})

    def delete(self, write: Delete) -> None:
        self._write([write])

    def delete_all(self, table: Table, keys: Sequence[Key]) -> None:
        with self._lock:
            for key in keys:
                self._items[table].pop(_values(table, key), None)

    def transact(self, writes: Sequence[Write]) -> None:
        self._write(writes)

    def _write(self, writes: Sequence[Write]) -> list[Item | None]:
        """All conditions on the items as they are, then all writes. Returns the items after them."""
        validate(writes)
        keys = [_values(write.table, write.key) for write in writes]
        with self._lock:
            before = [self._items[write.table].get(key) for write, key in zip(writes, keys, strict=True)]
            passed = [
                all(holds(condition, item or {}) for condition in write.when)
                for write, item in zip(writes, before, strict=True)
            ]
            if not all(passed):
                failed = zip(passed, _copied(before), strict=True)
                raise ConditionFailed([None if well else item or {} for well, item in failed])
            after = [applied(write, _copied(item)) for write, item in zip(writes, before, strict=True)]
            check_sizes(
                item
                for write, item in zip(writes, after, strict=True)
                if item is not None and not isinstance(write, Check)
            )
            for write, key, item in zip(writes, keys, after, strict=True):
                if item is None:
                    self._items[write.table].pop(key, None)
                else:
                    self._items[write.table][key] = item
        return after


def _copied(value: T) -> T:
    """A copy of plain values: much faster than `deepcopy`, and done for each read."""
    copied: Any = value
    if isinstance(value, dict):
        copied = {name: inner if isinstance(inner, str | int) else _copied(inner) for name, inner in value.items()}
    elif isinstance(value, list):
        copied = [_copied(inner) for inner in value]
    return cast("T", copied)


def _values(table: Table, key: Key) -> _KeyValues:
    return tuple(table.key_of(key).values())


def _is_between(sk: str, low: str, high: str | None) -> bool:
    return sk.startswith(low) if high is None else low <= sk <= high


def _is_behind(sk: str, last: str | None, backwards: bool) -> bool:
    return last is None or (sk < last if backwards else sk > last)
