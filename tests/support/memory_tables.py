"""The `Tables` port in memory: it accepts and rejects what DynamoDB does, and evaluates conditions with `holds`."""

import copy
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shared.ports.conditions import holds
from shared.ports.tables import (
    MAX_ITEM_BYTES,
    MAX_TRANSACTION_BYTES,
    Check,
    ConditionFailed,
    Delete,
    Index,
    InvalidOperation,
    Item,
    Key,
    Page,
    Put,
    Table,
    Update,
    Write,
    validate,
)

_KeyValues = tuple[str, ...]
_PAGE = 100


class MemoryTables:
    """Both tables as dictionaries under one lock. Items are copied in and out."""

    def __init__(self) -> None:
        self._items: dict[Table, dict[_KeyValues, Item]] = {table: {} for table in Table}
        self._lock = threading.RLock()

    def scan(self, table: Table) -> list[Item]:
        """All items, for tests that look at everything."""
        with self._lock:
            return copy.deepcopy(list(self._items[table].values()))

    def get(self, table: Table, key: Key) -> Item | None:
        with self._lock:
            return copy.deepcopy(self._items[table].get(_values(table, key)))

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
                found = copy.deepcopy(left[: page or _PAGE])
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
        return copy.deepcopy(after or {})

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
                failed = zip(passed, copy.deepcopy(before), strict=True)
                raise ConditionFailed([None if well else item or {} for well, item in failed])
            after = [_applied(write, item) for write, item in zip(writes, before, strict=True)]
            _check_sizes(item for write, item in zip(writes, after, strict=True) if not isinstance(write, Check))
            for write, key, item in zip(writes, keys, after, strict=True):
                if item is None:
                    self._items[write.table].pop(key, None)
                else:
                    self._items[write.table][key] = item
        return after


def _values(table: Table, key: Key) -> _KeyValues:
    return tuple(table.key_of(key).values())


def _is_between(sk: str, low: str, high: str | None) -> bool:
    return sk.startswith(low) if high is None else low <= sk <= high


def _is_behind(sk: str, last: str | None, backwards: bool) -> bool:
    return last is None or (sk < last if backwards else sk > last)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _applied(write: Write, before: Item | None) -> Item | None:
    match write:
        case Check():
            return before
        case Delete():
            return None
        case Put():
            return {name: _stored(value) for name, value in write.item.items() if value is not None}
        case Update():
            return _updated(copy.deepcopy(before) if before else dict(write.key), write)


def _updated(item: Item, write: Update) -> Item:
    """Every path is resolved before anything is changed."""
    changes = [
        *((*_parent(item, path), "set", value) for path, value in write.set.items()),
        *((*_parent(item, path), "first", value) for path, value in write.first.items()),
        *((*_parent(item, path), "add", value) for path, value in write.add.items()),
    ]
    for parent, name, kind, value in changes:
        if kind == "add":
            number = parent.get(name, 0)
            if not isinstance(number, int) or isinstance(number, bool):
                raise InvalidOperation(f"{name} is not a number")
            parent[name] = number + value
        elif value is None:
            parent.pop(name, None)
        elif kind == "set" or name not in parent:
            parent[name] = _stored(value)
    return item


def _parent(item: Item, path: str) -> tuple[Item, str]:
    """The map that a path leads into, and the name there."""
    *maps, name = path.split(".")
    for each in maps:
        inner = item.get(each)
        if not isinstance(inner, dict):
            raise InvalidOperation(f"{path} leads into a map that does not exist")
        item = inner
    return item, name


def _stored(value: Any) -> Any:
    """A copy of plain types. Raises TypeError for a value that cannot be stored."""
    match value:
        case None | bool():
            return value
        case str():
            return str(value)
        case int():
            return int(value)
        case bytes():
            return bytes(value)
        case Mapping():
            return {str(name): _stored(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_stored(inner) for inner in value]
    raise TypeError(f"cannot store a {type(value).__name__}")


def _check_sizes(items: Iterator[Item | None]) -> None:
    sizes = [_size(item) for item in items if item is not None]
    if any(size > MAX_ITEM_BYTES for size in sizes):
        raise InvalidOperation(f"an item has at most {MAX_ITEM_BYTES} bytes")
    if sum(sizes) > MAX_TRANSACTION_BYTES:
        raise InvalidOperation(f"a transaction has at most {MAX_TRANSACTION_BYTES} bytes")


def _size(value: Any) -> int:
    """About what DynamoDB counts: names and texts in UTF-8, two digits of a number in a byte."""
    match value:
        case str():
            return len(_utf8(value))
        case bytes():
            return len(value)
        case bool() | None:
            return 1
        case int():
            return len(str(value)) // 2 + 2
        case dict():
            return sum(len(_utf8(name)) + _size(inner) for name, inner in value.items())
        case _:
            return 3 + sum(1 + _size(inner) for inner in value)
