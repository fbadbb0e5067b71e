"""Writes what another installation has exported, only where nothing is yet. May be repeated after an interruption."""

from collections.abc import Callable, Iterable, Iterator

from shared.ports.conditions import absent
from shared.ports.tables import ConditionFailed, Put, Table, Tables
from shared.store.deletion import partition
from shared.store.keys import session_partition, user_partition
from shared.store.transfer.export import Record
from shared.store.transfer.kinds import CHANGEABLE, Kind, kind_of

_BATCH = 20
_KEYS = {Table.SESSIONS: "pk", Table.HANDOFFS: "handoff_id"}


class AlreadyThere(Exception):
    """The target has something else under the same key. `names` are the users, sessions and other items."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = sorted(names)
        super().__init__(", ".join(self.names))


def conflicts(tables: Tables, records: Iterable[Record]) -> set[str]:
    """Items of the target that differ from the records, or that they do not have of a user or session. Writes nothing."""
    found: set[str] = set()
    keys: set[tuple[str, ...]] = set()
    users: set[str] = set()
    sessions: set[str] = set()
    for batch in _batches(records):
        for table in Table:
            wanted = {_key(table, item): item for each, item in batch if each is table}
            for item in tables.get_many(table, [table.key_of(item) for item in wanted.values()]):
                if item != wanted[_key(table, item)] and kind_of(table, item) not in CHANGEABLE:
                    found.add(_name(table, item))
            keys |= wanted.keys()
            for item in wanted.values():
                if kind_of(table, item) is Kind.USER:
                    users.add(item["sk"])
                elif kind_of(table, item) is Kind.SESSION:
                    sessions.add(item["session_id"])
    for owned in (*map(user_partition, users), *map(session_partition, sessions)):
        found |= {_name(Table.SESSIONS, item) for item in partition(tables, owned) if _is_more(item, keys)}
    return found


def write(tables: Tables, records: Iterable[Record], progress: Callable[[int], None] = lambda _: None) -> int:
    """Write all records in their order; returns how many were not there yet. Raises AlreadyThere at the first conflict.

    What was written stays: a repeat passes over it.
    """
    written = 0
    for number, (table, item) in enumerate(records, 1):
        try:
            tables.put(Put(table, item, [absent(_KEYS[table])]))
            written += 1
        except ConditionFailed as failed:
            if failed.items[0] != item and kind_of(table, item) not in CHANGEABLE:
                raise AlreadyThere([_name(table, item)]) from None
        progress(number)
    return written


def _is_more(item: dict[str, object], keys: set[tuple[str, ...]]) -> bool:
    """Whether it is of a kind that moves, and not among the records."""
    kind = kind_of(Table.SESSIONS, item)
    is_content = kind in (Kind.HOME, Kind.IDENTITY, Kind.TOKEN, Kind.SESSION, Kind.CHUNK, Kind.BACK_ROUTE)
    return is_content and _key(Table.SESSIONS, item) not in keys


def _name(table: Table, item: dict[str, object]) -> str:
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


def _key(table: Table, item: dict[str, object]) -> tuple[str, ...]:
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
