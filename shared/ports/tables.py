"""Key-value tables with conditional writes and small transactions: what the store needs of a database."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol

from shared.ports.conditions import Condition

Item = dict[str, Any]
"""Plain values: str, int, bool, bytes, and lists and maps of these and None."""
Key = Mapping[str, str]
MAX_WRITES = 100
"""Writes in one transaction."""
MAX_ITEM_BYTES = 400 * 1024
MAX_KEY_BYTES = (2048, 1024)
"""Of the first attribute of a key, and of the second."""
MAX_DEPTH = 32
"""Levels of lists and maps in an item."""
MAX_TRANSACTION_BYTES = 4 * 1024 * 1024


class InvalidOperation(Exception):
    """The tables never accept this: an empty key, too large, too many, a path into a missing map. A defect of the caller."""


class Table(Enum):
    """The two tables; the value names the attributes of the key."""

    HANDOFFS = ("handoff_id",)
    SESSIONS = ("pk", "sk")

    __hash__ = object.__hash__  # Enum's is written in Python, and a table is looked up for each statement

    def key_of(self, item: Mapping[str, Any]) -> Key:
        """The key of an item. Raises InvalidOperation for an empty one."""
        key = {name: item[name] for name in self._value_}
        if not all(key.values()):
            raise InvalidOperation("a key may not be empty")
        return key


@dataclass(frozen=True)
class Index:
    """A second order of a table's items: by `partition`, then `sort`. An item without both is not in it."""

    name: str
    table: Table
    partition: str
    sort: str

    @property
    def partition_type(self) -> type[str] | type[int]:
        """Sort attributes are numbers."""
        return str if self.partition == "user_id" else int


HANDOFFS_BY_USER = Index("by_user", Table.HANDOFFS, "user_id", "created_at")
SESSIONS_BY_USER = Index("by_user", Table.SESSIONS, "user_id", "created_at")
DUE = Index("due", Table.HANDOFFS, "due_shard", "due_at")
SESSIONS_DUE = Index("due", Table.SESSIONS, "due_shard", "due_at")
INDEXES = (HANDOFFS_BY_USER, SESSIONS_BY_USER, DUE, SESSIONS_DUE)


@dataclass(frozen=True)
class Put:
    """Write a whole item if the conditions hold. Attributes that are None are not stored."""

    table: Table
    item: Mapping[str, Any]
    when: Sequence[Condition] = ()

    @property
    def key(self) -> Key:
        return self.table.key_of(self.item)


@dataclass(frozen=True)
class Update:
    """Change an item, or create it, if the conditions hold.

    `set` assigns (None removes the attribute), `first` assigns what is not set yet, `add` adds to a number (from 0).
    A path may lead into a map that exists.
    """

    table: Table
    key: Key
    when: Sequence[Condition]
    set: Mapping[str, Any] = field(default_factory=dict)
    first: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Delete:
    """Remove an item if the conditions hold. Without conditions, an item that does not exist is no error."""

    table: Table
    key: Key
    when: Sequence[Condition] = ()


@dataclass(frozen=True)
class Check:
    """Let a transaction pass only if the conditions hold for an item that it does not change."""

    table: Table
    key: Key
    when: Sequence[Condition]


Write = Put | Update | Delete | Check


class ConditionFailed(Exception):
    """A condition did not hold, and nothing was written.

    `items` has one entry for each write: the item as it is if that write's condition failed (`{}` for an item that does
    not exist), else None.
    """

    def __init__(self, items: Sequence[Item | None]) -> None:
        super().__init__("a condition of the write does not hold")
        self.items = items


@dataclass(frozen=True)
class Page:
    """Rows of an index in its order. They hold only keys: those of the table and those of the index.

    `next` is the position after them, None at the end; the page after it may be empty.
    """

    rows: Sequence[Item]
    next: Item | None = None


class Tables(Protocol):
    """The two tables. Reads by key are strongly consistent; an index may lag behind its table.

    Writes raise ConditionFailed, or errors.Conflict if another transaction is writing the same items right now.
    """

    def get(self, table: Table, key: Key) -> Item | None: ...

    def get_many(self, table: Table, keys: Sequence[Key]) -> list[Item]:
        """The items that exist, in the order of `keys`, which are distinct."""

    def query(
        self, pk: str, *, low: str, high: str | None = None, backwards: bool = False, page: int | None = None
    ) -> Iterator[Item]:
        """The items of one partition of the Sessions table with low ≤ sk ≤ high, in the order of `sk`.

        Without `high`: those whose `sk` begins with `low`. `page` is how many are read (and paid for) at a time, for a
        caller that may stop early.
        """

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
        """One page of the rows with this `value`, at most `limit`, behind the position `after`.

        `up_to` keeps those whose sort attribute is at most that.
        """

    def scan(self, table: Table) -> Iterator[Item]:
        """Every item, page by page, in an order that means nothing. For operators: it reads the whole table, and the
        functions may not.

        An item that is written or deleted in the meantime may be seen or not; all others are seen once.
        """

    def put(self, write: Put) -> None: ...

    def update(self, write: Update) -> Item:
        """Returns the item as it is after the update."""

    def delete(self, write: Delete) -> None: ...

    def delete_all(self, table: Table, keys: Sequence[Key]) -> None:
        """Remove items without conditions, in no order and not at once. Items that do not exist are no error."""

    def transact(self, writes: Sequence[Write]) -> None:
        """Do all writes or none. Each item may occur once."""


def updated(tables: Tables, write: Update) -> bool:
    """Whether the conditions of an update held. If one failed, nothing was written."""
    try:
        tables.update(write)
    except ConditionFailed:
        return False
    return True


def transacted(tables: Tables, writes: Sequence[Write]) -> bool:
    """Whether the conditions of a transaction held. If one failed, nothing was written."""
    try:
        tables.transact(writes)
    except ConditionFailed:
        return False
    return True


def validate(writes: Sequence[Write]) -> None:
    """Check what every adapter rejects before it evaluates a condition. Raises InvalidOperation."""
    if not 0 < len(writes) <= MAX_WRITES:
        raise InvalidOperation(f"a transaction has 1 to {MAX_WRITES} writes, not {len(writes)}")
    keys = [(write.table, *write.table.key_of(write.key).values()) for write in writes]
    if len(keys) > 1 and len(set(keys)) != len(keys):
        raise InvalidOperation("a transaction may contain an item only once")
    for write in writes:
        if isinstance(write, Update):
            _validate_paths(write.table, (*write.set, *write.first, *write.add))


@lru_cache(maxsize=256)  # the store has some dozens
def _validate_paths(table: Table, of_update: tuple[str, ...]) -> None:
    paths = sorted(path.split(".") for path in of_update)
    if any(after[: len(before)] == before for before, after in pairwise(paths)):
        raise InvalidOperation("the paths of an update may not overlap")
    if any(path[0] in table.value for path in paths):
        raise InvalidOperation("an update may not change the key")
