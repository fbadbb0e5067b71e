"""Transactions: all writes or none."""

import pytest

from shared.ports.conditions import absent, equals, present
from shared.ports.tables import (
    MAX_WRITES,
    Check,
    ConditionFailed,
    Delete,
    InvalidOperation,
    Put,
    Table,
    Tables,
    Update,
    Write,
)
from tests.support.table_backends import LARGE_TRANSACTIONS, Backend

A, B, C, D = ({"pk": "p", "sk": name} for name in "abcd")
H = {"handoff_id": "h"}


def everything(backend: Backend) -> list[object]:
    return [sorted(backend.scan(table), key=lambda item: list(table.key_of(item).values())) for table in Table]


@pytest.fixture
def stored(tables: Tables) -> Tables:
    tables.put(Put(Table.SESSIONS, {**A, "n": 1}))
    tables.put(Put(Table.SESSIONS, {**B, "n": 2}))
    tables.put(Put(Table.SESSIONS, {**C, "n": 3}))
    return tables


def test_a_transaction_writes_to_both_tables(stored: Tables, backend: Backend) -> None:
    stored.transact(
        [
            Put(Table.HANDOFFS, {**H, "n": 0}, [absent("handoff_id")]),
            Update(Table.SESSIONS, A, [equals("n", 1)], set={"m": 1}, add={"n": 1}),
            Delete(Table.SESSIONS, B, [equals("n", 2)]),
            Check(Table.SESSIONS, C, [equals("n", 3)]),
            Put(Table.SESSIONS, D),
        ]
    )
    assert everything(backend) == [[{**H, "n": 0}], [{**A, "m": 1, "n": 2}, {**C, "n": 3}, D]]


def test_one_failed_condition_stops_all_writes(stored: Tables, backend: Backend) -> None:
    before = everything(backend)
    with pytest.raises(ConditionFailed):
        stored.transact(
            [
                Put(Table.HANDOFFS, H),
                Update(Table.SESSIONS, A, [], add={"n": 1}),
                Delete(Table.SESSIONS, B),
                Check(Table.SESSIONS, C, [equals("n", 9)]),
            ]
        )
    assert everything(backend) == before


def test_the_failed_items_come_in_the_order_of_the_writes(stored: Tables) -> None:
    with pytest.raises(ConditionFailed) as failed:
        stored.transact(
            [
                Put(Table.HANDOFFS, H, [present("handoff_id")]),
                Update(Table.SESSIONS, A, [equals("n", 1)], add={"n": 1}),
                Delete(Table.SESSIONS, B, [equals("n", 9)]),
                Check(Table.SESSIONS, C, [absent("pk")]),
                Put(Table.SESSIONS, D),
            ]
        )
    assert failed.value.items == [{}, None, {**B, "n": 2}, {**C, "n": 3}, None]


@pytest.mark.parametrize(
    "writes",
    [
        [Put(Table.SESSIONS, A), Put(Table.SESSIONS, A)],
        [Update(Table.SESSIONS, A, [], add={"n": 1}), Delete(Table.SESSIONS, A)],
        [Put(Table.SESSIONS, {**A, "n": 9}), Check(Table.SESSIONS, A, [present("pk")])],
    ],
)
def test_an_item_may_occur_once(stored: Tables, backend: Backend, writes: list[Write]) -> None:
    before = everything(backend)
    with pytest.raises(InvalidOperation, match="once"):
        stored.transact(writes)
    assert everything(backend) == before


def test_the_same_key_values_in_two_tables_are_two_items(tables: Tables) -> None:
    tables.transact([Put(Table.HANDOFFS, {"handoff_id": "a"}), Put(Table.SESSIONS, {"pk": "a", "sk": "a"})])
    assert tables.get(Table.HANDOFFS, {"handoff_id": "a"}) is not None


def test_a_hundred_writes_fit(tables: Tables, backend: Backend) -> None:
    backend.needs(LARGE_TRANSACTIONS)
    tables.transact([Put(Table.SESSIONS, {"pk": "p", "sk": f"{number:03}"}) for number in range(MAX_WRITES)])
    assert len(list(tables.query("p", low="0"))) == MAX_WRITES


@pytest.mark.parametrize("count", [0, MAX_WRITES + 1])
def test_none_and_more_than_a_hundred_writes_are_invalid(tables: Tables, backend: Backend, count: int) -> None:
    with pytest.raises(InvalidOperation, match="1 to 100"):
        tables.transact([Put(Table.SESSIONS, {"pk": "p", "sk": f"{number:03}"}) for number in range(count)])
    assert everything(backend) == [[], []]


def test_a_transaction_over_4_mb_is_invalid(tables: Tables, backend: Backend) -> None:
    backend.needs(LARGE_TRANSACTIONS)
    items = [{"pk": "p", "sk": f"{number:03}", "data": "x" * 390 * 1024} for number in range(11)]
    with pytest.raises(InvalidOperation):
        tables.transact([Put(Table.SESSIONS, item) for item in items])
    assert everything(backend) == [[], []]


def test_an_item_over_400_kb_stops_all_writes(tables: Tables, backend: Backend) -> None:
    with pytest.raises(InvalidOperation):
        tables.transact([Put(Table.SESSIONS, A), Put(Table.SESSIONS, {**B, "data": "x" * 401 * 1024})])
    assert everything(backend) == [[], []]


def test_an_invalid_path_stops_all_writes(stored: Tables, backend: Backend) -> None:
    before = everything(backend)
    with pytest.raises(InvalidOperation):
        stored.transact([Put(Table.SESSIONS, D), Update(Table.SESSIONS, A, [], set={"missing.path": 1})])
    assert everything(backend) == before
