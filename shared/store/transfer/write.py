"""Writes what another installation has exported, only where nothing is yet. May be repeated after an interruption."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Protocol

from shared.ports.conditions import absent
from shared.ports.tables import Check, ConditionFailed, Item, Put, Table, Tables, Write
from shared.store.deletion import partition
from shared.store.keys import session_partition, user_key, user_partition
from shared.store.transfer.export import Record
from shared.store.transfer.kinds import CHANGEABLE, Kind, kind_of

_BATCH = 20
_USERS_KEPT = 10_000
_KEYS = {Table.SESSIONS: "pk", Table.HANDOFFS: "handoff_id"}
_CONTENT = (Kind.HOME, Kind.IDENTITY, Kind.TOKEN, Kind.SESSION, Kind.CHUNK, Kind.FILE, Kind.BACK_ROUTE)


class AlreadyThere(Exception):
    """The target has something else under the same key. `names` are the users, sessions and other items."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = sorted(names)
        super().__init__(", ".join(self.names))


class Index(Protocol):
    """The records of an import by key: their users and sessions."""

    def has(self, record: Record) -> bool: ...

    def user_of(self, record: Record) -> str: ...

    def users(self) -> Iterator[str]: ...

    def sessions(self) -> Iterator[str]: ...


def conflicts(tables: Tables, records: Iterable[Record], index: Index) -> Iterator[str]:
    """What keeps the records from being written. Writes nothing; a name may come several times.

    Items that differ from the records; those that the records do not have, of a user or a session; users who are there and
    would get something.
    """

    @lru_cache(_USERS_KEPT)
    def is_there(user: str) -> bool:
        return tables.get(Table.SESSIONS, user_key(user)) is not None

    for batch in _batches(records):
        there = {_key(table, item): item for table in Table for item in tables.get_many(table, _keys_of(batch, table))}
        for table, item in batch:
            found = there.get(_key(table, item))
            if kind_of(table, item) in CHANGEABLE:
                continue
            if found is None and is_there(user := index.user_of((table, item))):
                yield f"user {user}"
            if found is not None and found != item:
                yield _name(table, found)
    for pk in chain(map(user_partition, index.users()), map(session_partition, index.sessions())):
        for item in partition(tables, pk):
            if kind_of(Table.SESSIONS, item) in _CONTENT and not index.has((Table.SESSIONS, item)):
                yield _name(Table.SESSIONS, item)


def write(
    tables: Tables,
    records: Callable[[], Iterable[Record]],
    index: Index,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[Counter[Kind], int]:
    """Write all records in their order, but those that list users last: from then on a user is there, and gets nothing.

    Returns how many of each kind were not there yet, and how many messages. Raises AlreadyThere at the first conflict.
    What was written stays: a repeat passes over it.
    """
    written: Counter[Kind] = Counter()
    messages = number = 0
    for lists_users in (False, True):
        for table, item in records():
            kind = kind_of(table, item)
            if (kind is Kind.USER) is not lists_users:
                continue
            number += 1
            if _put(tables, table, item, None if lists_users else index.user_of((table, item))):
                written[kind] += 1
                messages += item["count"] if kind is Kind.CHUNK else 0
            progress(number)
    return written, messages


def _put(tables: Tables, table: Table, item: Item, user: str | None) -> bool:
    """Write an item if neither it nor its user is there; False if it is there. Raises AlreadyThere."""
    writes: list[Write] = [Put(table, item, [absent(_KEYS[table])])]
    if user is not None:
        writes.append(Check(Table.SESSIONS, user_key(user), [absent("pk")]))
    try:
        tables.transact(writes)
    except ConditionFailed as failed:
        found = failed.items[0]
        if kind_of(table, item) not in CHANGEABLE and found != item:
            raise AlreadyThere([_name(table, item) if found else f"user {user}"]) from None
        return False
    return True


def _name(table: Table, item: Item) -> str:
    """For a person: the user or session that an item belongs to, never the hash of a token."""
    if table is Table.HANDOFFS:
        return f"handoff {item['handoff_id']}"
    start, _, rest = str(item["pk"]).partition("#")
    match start:
        case "USERS":
            return f"user {item['sk']}"
        case "USER" | "SESSION":
            return f"{start.lower()} {rest}"
        case "PERSON":
            return f"account {rest.replace('#', ' ')}, which belongs to user {item.get('user')}"
    return f"route {rest}"


def _keys_of(batch: Iterable[Record], table: Table) -> list[dict[str, str]]:
    return [dict(table.key_of(item)) for each, item in batch if each is table]


def _key(table: Table, item: Item) -> tuple[str, ...]:
    return (table.name, *table.key_of(item).values())


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    for record in records:
        batch.append(record)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
