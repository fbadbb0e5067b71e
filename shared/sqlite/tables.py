"""The `Tables` port on a SQLite file."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from shared.ports.conditions import holds
from shared.ports.table_writes import applied, check_sizes
from shared.ports.tables import (
    MAX_ITEM_BYTES,
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
from shared.sqlite.database import Database
from shared.sqlite.statements import COPIED, STATEMENTS, page_of_index, page_of_partition

_PAGE = 100
_INDEX_PAGE = 1000
_TYPES = {"user_id": str, "created_at": int, "due_shard": int, "due_at": int}
_SURELY_SMALL = MAX_ITEM_BYTES // 8
"""No character of an item's text stands for more than four bytes of what DynamoDB counts, and the keys are small."""
_TOO_LARGE = 2**63
"""SQLite's integers have 64 bits."""

_Row = tuple[str, bytes | None]
Changed = Callable[[Table, Item], None]
_Path = tuple[str | int, ...]
_TEXT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
_ASCII = json.JSONEncoder(separators=(",", ":"), check_circular=False)


class SqliteTables:
    """Conditions are evaluated inside the transaction that writes. An index is never behind its table.

    `changed` is called with each item that a write has left, after the commit and outside the lock: what the stream
    is for DynamoDB. Calls for two writes may come in any order.
    """

    def __init__(self, database: Database, changed: Changed = lambda _table, _item: None) -> None:
        self._database = database
        self._changed = changed

    def get(self, table: Table, key: Key) -> Item | None:
        values = _key_values(table, key)
        with self._database.reading() as connection:
            row = _row(connection, table, values)
        return _item(table, values, row) if row else None

    def get_many(self, table: Table, keys: Sequence[Key]) -> list[Item]:
        wanted = [_key_values(table, key) for key in keys]
        with self._database.reading() as connection:
            rows = [(values, _row(connection, table, values)) for values in wanted]
        return [_item(table, values, row) for values, row in rows if row]

    def query(
        self, pk: str, *, low: str, high: str | None = None, backwards: bool = False, page: int | None = None
    ) -> Iterator[Item]:
        """Page by page: no connection is in use while the caller works on an item."""
        limit = page or _PAGE
        after: str | None = None
        while True:
            statement, values = page_of_partition(pk, low, high, after, backwards=backwards, limit=limit)
            with self._database.reading() as connection:
                rows = connection.execute(statement, values).fetchall()
            for sk, *content in rows:
                yield _item(Table.SESSIONS, (pk, sk), content)
            if len(rows) < limit:
                return
            after = rows[-1][0]

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
        limit = _INDEX_PAGE if limit is None else limit
        statement, values = page_of_index(index, value, up_to, after, backwards=backwards, limit=limit)
        with self._database.reading() as connection:
            found = connection.execute(statement, values).fetchall()
        names = (index.partition, index.sort, *index.table.value)
        rows = [dict(zip(names, row, strict=True)) for row in found]
        return Page(rows, rows[-1] if len(rows) == limit else None)

    def scan(self, table: Table) -> Iterator[Item]:
        """In the order of the keys. No connection is in use while the caller works on an item."""
        after: tuple[str, ...] = ("",) * len(table.value)
        while True:
            with self._database.reading() as connection:
                rows = connection.execute(STATEMENTS[table].scan, (*after, _PAGE)).fetchall()
            for row in rows:
                yield _item(table, row[:-2], row[-2:])
            if len(rows) < _PAGE:
                return
            after = tuple(rows[-1][:-2])

    def held(self, now: int) -> list[Item]:
        """Items of the Sessions table that a process holds beyond `now`: a turn, a part being sent, files being read.

        For a process that knows that it is alone, and that these leases are therefore over.
        """
        with self._database.reading() as connection:
            rows = connection.execute(STATEMENTS[Table.SESSIONS].held, (now,)).fetchall()
        return [_item(Table.SESSIONS, row[:-2], row[-2:]) for row in rows]

    def put(self, write: Put) -> None:
        self._write([write])

    def update(self, write: Update) -> Item:
        (after,) = self._write([write])
        return after or {}

    def delete(self, write: Delete) -> None:
        self._write([write])

    def delete_all(self, table: Table, keys: Sequence[Key]) -> None:
        values = [_key_values(table, key) for key in keys]
        with self._database.writing() as connection:
            connection.executemany(STATEMENTS[table].delete, values)

    def transact(self, writes: Sequence[Write]) -> None:
        self._write(writes)

    def expire(self, now: int, *, limit: int = 500) -> int:
        """Remove up to `limit` items of each table whose time is over; returns how many. Repeat while it finds some.

        Until then they are read like any other, as in DynamoDB.
        """
        with self._database.writing() as connection:
            return sum(connection.execute(STATEMENTS[table].expire, (now // 1000, limit)).rowcount for table in Table)

    def _write(self, writes: Sequence[Write]) -> list[Item | None]:
        """All conditions on the items as they are, then all writes. Returns the items after them."""
        validate(writes)
        keys = [_key_values(write.table, write.key) for write in writes]
        with self._database.writing() as connection:
            before = [_before(connection, write, key) for write, key in zip(writes, keys, strict=True)]
            passed = [
                all(holds(condition, item or {}) for condition in write.when)
                for write, item in zip(writes, before, strict=True)
            ]
            if not all(passed):
                raise ConditionFailed([None if well else item or {} for well, item in zip(passed, before, strict=True)])
            copies = [_copies(item) if item else None for item in before]
            after = [applied(write, item) for write, item in zip(writes, before, strict=True)]
            rows = [
                (write, key, copied, item)
                for write, key, copied, item in zip(writes, keys, copies, after, strict=True)
                if not isinstance(write, Check)
            ]
            _store(connection, rows)
        for write, item in zip(writes, after, strict=True):
            if item is not None and not isinstance(write, Check):
                self._changed(write.table, item)
        return after


def _store(
    connection: sqlite3.Connection,
    rows: Sequence[tuple[Write, tuple[str, ...], tuple[Any, ...] | None, Item | None]],
) -> None:
    """Sizes are counted only if the texts are so long that a limit may be exceeded."""
    encoded = [encode(_without_key(write.table, item)) if item is not None else ("", None) for write, *_, item in rows]
    if sum(len(text) + len(data or b"") for text, data in encoded) > _SURELY_SMALL:
        check_sizes(item for *_, item in rows if item is not None)
    for (write, key, before, item), content in zip(rows, encoded, strict=True):
        statements = STATEMENTS[write.table]
        if item is None:
            connection.execute(statements.delete, key)
            continue
        copied = _copies(item)
        if before is None:
            connection.execute(statements.insert, (*key, *content, *copied))
        elif before == copied:
            connection.execute(statements.update, (*content, *key))  # leaves every index as it is
        else:
            connection.execute(statements.update_all, (*content, *copied, *key))


def _copies(item: Item) -> tuple[Any, ...]:
    """The attributes that are also columns. DynamoDB rejects an indexed attribute of another type; other columns ignore it."""
    get = item.get
    for name, kind in _TYPES.items():
        value = get(name)
        if value is not None and (type(value) is not kind or value == "" or (kind is int and _time(value) is None)):
            raise InvalidOperation(f"{name} is the key of an index and must be a {kind.__name__}, not {value!r:.40}")
    turn = get("turn")
    held = turn.get("lease_until") if isinstance(turn, dict) else get("sending_until", get("read_until"))
    return (*map(get, COPIED), _time(get("expires_at")), _time(held))


def _time(value: Any) -> int | None:
    return value if type(value) is int and abs(value) < _TOO_LARGE else None


def _before(connection: sqlite3.Connection, write: Write, key: tuple[str, ...]) -> Item | None:
    row = _row(connection, write.table, key)
    return _item(write.table, key, row) if row else None


def _row(connection: sqlite3.Connection, table: Table, key: tuple[str, ...]) -> _Row | None:
    row: _Row | None = connection.execute(STATEMENTS[table].get, key).fetchone()
    return row


def _item(table: Table, key: Sequence[str], content: Sequence[Any]) -> Item:
    item = decode(*content)
    item.update(zip(STATEMENTS[table].key, key, strict=True))
    return item


def _without_key(table: Table, item: Item) -> Item:
    plain = dict(item)
    for name in STATEMENTS[table].key:
        del plain[name]
    return plain


def _key_values(table: Table, key: Key) -> tuple[str, ...]:
    return tuple(table.key_of(key).values())


def encode(values: Mapping[str, Any]) -> tuple[str, bytes | None]:
    """The text and the bytes of plain values: the bytes are null in the text, and begin with the list of their places."""
    try:
        return _text_of(values), None
    except TypeError:  # JSON has no bytes; the few items that have some pay for the search
        found: list[tuple[_Path, bytes]] = []
        text = _text_of(without_bytes(values, (), found))
        places = _text_of([[*path, len(data)] for path, data in found])
        return text, b"\n".join([places.encode("utf-8", "surrogatepass"), b"".join(data for _, data in found)])


def decode(text: str, data: bytes | None) -> Item:
    """The values again."""
    item: Item = json.loads(text)
    if data is not None:
        places, _, rest = data.partition(b"\n")  # JSON text contains no line break
        start = 0
        for *path, name, length in json.loads(places):
            parent: Any = item
            for step in path:
                parent = parent[step]
            parent[name] = rest[start : start + length]
            start += length
    return item


def _text_of(values: Any) -> str:
    text = _TEXT.encode(values)
    if not text.isascii():
        try:
            text.encode()  # SQLite stores UTF-8, which has no half of a surrogate pair
        except UnicodeEncodeError:
            return _ASCII.encode(values)
    return text


def without_bytes(value: Any, path: _Path, found: list[tuple[_Path, bytes]]) -> Any:
    """The value with null instead of bytes, which are added to `found` with their places."""
    if isinstance(value, bytes):
        found.append((path, value))
        return None
    if isinstance(value, Mapping):
        return {name: without_bytes(inner, (*path, name), found) for name, inner in value.items()}
    if isinstance(value, list):
        return [without_bytes(inner, (*path, number), found) for number, inner in enumerate(value)]
    return value
