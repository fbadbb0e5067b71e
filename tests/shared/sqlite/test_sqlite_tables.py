"""What the tables on SQLite offer beyond the port: expiry, held items, a call after each change, indexes for all reads."""

from typing import Any

import pytest

from shared.ports.conditions import absent
from shared.ports.tables import (
    DUE,
    HANDOFFS_BY_USER,
    SESSIONS_BY_USER,
    SESSIONS_DUE,
    Check,
    ConditionFailed,
    Delete,
    Index,
    InvalidOperation,
    Item,
    Put,
    Table,
    Update,
)
from shared.sqlite.database import Database
from shared.sqlite.statements import STATEMENTS, page_of_index, page_of_partition
from shared.sqlite.tables import SqliteTables

NOW = 1_800_000_000_000
H = {"handoff_id": "h"}


def session(sk: str, **values: Any) -> Item:
    return {"pk": "SESSION#s", "sk": sk, **values}


def sort_keys(tables: SqliteTables) -> list[str]:
    return [item["sk"] for item in tables.scan(Table.SESSIONS)]


def test_expired_items_are_read_until_they_are_removed(tables: SqliteTables) -> None:
    tables.put(Put(Table.SESSIONS, session("a", expires_at=NOW // 1000)))
    tables.put(Put(Table.SESSIONS, session("b", expires_at=NOW // 1000 + 1)))
    tables.put(Put(Table.SESSIONS, session("c", expires_at="never")))
    tables.put(Put(Table.SESSIONS, session("d", expires_at=2**63)))
    tables.put(Put(Table.HANDOFFS, {**H, "expires_at": 1}))
    assert sort_keys(tables) == ["a", "b", "c", "d"]

    assert tables.expire(NOW) == 2

    assert sort_keys(tables) == ["b", "c", "d"]
    assert tables.get(Table.HANDOFFS, H) is None
    assert tables.expire(NOW) == 0


def test_an_item_that_no_longer_expires_stays(tables: SqliteTables) -> None:
    tables.put(Put(Table.SESSIONS, session("a", expires_at=1)))
    tables.update(Update(Table.SESSIONS, {"pk": "SESSION#s", "sk": "a"}, [], set={"expires_at": None}))
    assert tables.expire(NOW) == 0


def test_many_items_expire_in_steps(tables: SqliteTables) -> None:
    for number in range(5):
        tables.put(Put(Table.SESSIONS, session(str(number), expires_at=1)))
    assert [tables.expire(NOW, limit=2) for _ in range(4)] == [2, 2, 1, 0]


def test_held_items_are_found_and_others_are_not(tables: SqliteTables) -> None:
    held = [session("META", turn={"id": "t", "lease_until": NOW + 1}), session("OUT#t#1", sending_until=NOW + 1)]
    others = [
        session("META2", turn={"id": "t", "lease_until": NOW}),
        session("META3"),
        session("META4", turn="of a newer version"),
        session("OUT#t#2", sending_until="later"),
    ]
    for item in [*held, *others]:
        tables.put(Put(Table.SESSIONS, item))
    assert sorted(tables.held(NOW), key=lambda item: str(item["sk"])) == held
    tables.update(Update(Table.SESSIONS, {"pk": "SESSION#s", "sk": "META"}, [], set={"turn": None}))
    assert tables.held(NOW) == held[1:]


def test_what_a_write_leaves_is_reported_when_others_can_read_it(database: Database) -> None:
    seen: list[tuple[Table, Item | None]] = []
    tables = SqliteTables(database, lambda table, item: seen.append((table, tables.get(table, table.key_of(item)))))
    tables.put(Put(Table.HANDOFFS, {**H, "n": 1}))
    tables.transact([Update(Table.HANDOFFS, H, [], add={"n": 1}), Put(Table.SESSIONS, session("a"))])
    tables.transact([Check(Table.HANDOFFS, H, []), Put(Table.SESSIONS, session("b"))])
    with pytest.raises(ConditionFailed):
        tables.put(Put(Table.HANDOFFS, H, [absent("handoff_id")]))
    tables.delete(Delete(Table.HANDOFFS, H))
    assert seen == [
        (Table.HANDOFFS, {**H, "n": 1}),
        (Table.HANDOFFS, {**H, "n": 2}),
        (Table.SESSIONS, session("a")),
        (Table.SESSIONS, session("b")),
    ]


def test_a_listener_may_write(database: Database) -> None:
    def listen(table: Table, _: Item) -> None:
        if table is Table.HANDOFFS:
            tables.put(Put(Table.SESSIONS, session("from the listener")))

    tables = SqliteTables(database, listen)
    tables.put(Put(Table.HANDOFFS, H))
    assert sort_keys(tables) == ["from the listener"]


@pytest.mark.parametrize("value", ["5", True, b"5", [5], 2**63], ids=repr)
def test_an_indexed_attribute_of_another_type_is_invalid(tables: SqliteTables, value: Any) -> None:
    with pytest.raises(InvalidOperation, match="due_at"):
        tables.put(Put(Table.HANDOFFS, {**H, "due_shard": 1, "due_at": value}))
    assert tables.get(Table.HANDOFFS, H) is None


def test_a_prefix_of_the_last_character_has_no_end(tables: SqliteTables) -> None:
    for sk in ("\U0010ffff", "\U0010ffffa", "\ud7ff1", "\ue000"):
        tables.put(Put(Table.SESSIONS, session(sk)))
    assert [item["sk"] for item in tables.query("SESSION#s", low="\U0010ffff")] == ["\U0010ffff", "\U0010ffffa"]
    assert [item["sk"] for item in tables.query("SESSION#s", low="\ud7ff")] == ["\ud7ff1"]


def plan(database: Database, statement: str, values: Any = ()) -> str:
    with database.reading() as connection:
        return "\n".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("index", [DUE, HANDOFFS_BY_USER, SESSIONS_BY_USER, SESSIONS_DUE], ids=str)
def test_a_page_of_an_index_reads_only_the_index(
    database: Database, index: Index, after: bool, backwards: bool
) -> None:
    position = dict.fromkeys((index.sort, *index.table.value), "1") if after else None
    statement, values = page_of_index(index, 1, 5, position, backwards=backwards, limit=10)
    found = plan(database, statement, values)
    assert f"USING COVERING INDEX {index.table.name.lower()}_{index.name} ({index.partition}=?" in found
    assert "SCAN" not in found
    assert "TEMP B-TREE" not in found


@pytest.mark.parametrize("high", [None, "z"])
def test_a_page_of_a_partition_reads_only_its_rows(database: Database, high: str | None) -> None:
    found = plan(database, *page_of_partition("p", "a", high, "b", backwards=True, limit=10))
    assert "(pk=? AND sk>? AND sk<?)" in found
    assert "TEMP B-TREE" not in found


@pytest.mark.parametrize("table", Table)
def test_purges_and_held_items_use_their_indexes(database: Database, table: Table) -> None:
    assert f"{table.name.lower()}_expiring (expires_at<?)" in plan(database, STATEMENTS[table].expire, (1, 1))
    assert f"{table.name.lower()}_held (held_until>?)" in plan(database, STATEMENTS[table].held, (1,))
