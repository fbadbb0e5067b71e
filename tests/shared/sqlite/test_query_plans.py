"""Every statement finds its rows through an index, so that a file with a million messages costs what an empty one does."""

from collections.abc import Iterator
from typing import Any

import pytest

from shared.ports.tables import DUE, HANDOFFS_BY_USER, SESSIONS_BY_USER, SESSIONS_DUE, Index, Table
from shared.sqlite.database import Database
from shared.sqlite.queues import SqliteQueue
from shared.sqlite.statements import STATEMENTS, page_of_index, page_of_partition
from tests.support.fake_queue import ManualClock

INDEXES = (HANDOFFS_BY_USER, SESSIONS_BY_USER, DUE, SESSIONS_DUE)


def plan(database: Database, statement: str, values: Any) -> list[str]:
    with database.reading() as connection:
        return [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]


def assert_no_scan(database: Database, statement: str, values: Any) -> None:
    steps = plan(database, statement, values)
    slow = [step for step in steps if step.startswith("SCAN") or "TEMP B-TREE" in step]
    assert not slow, f"{statement}: {steps}"


def by_key() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Statements on items, each with as many values as it takes."""
    for table in Table:
        key, found = len(table.value), STATEMENTS[table]
        yield found.get, ("k",) * key
        yield found.update, ("{}", None, *("k",) * key)
        yield found.update_all, ("{}", None, *(None,) * 6, *("k",) * key)
        yield found.delete, ("k",) * key
        yield found.expire, (1, 500)
        yield found.held, (1,)
        yield found.scan, (*("k",) * key, 100)


@pytest.mark.parametrize(("statement", "values"), list(by_key()))
def test_items_are_found_by_key_lease_or_expiry(database: Database, statement: str, values: Any) -> None:
    steps = plan(database, statement, values)

    assert any(step.startswith("SEARCH") for step in steps), steps
    assert not any("TEMP B-TREE" in step for step in steps), steps


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("after", [None, "CHUNK#5"])
@pytest.mark.parametrize("high", [None, "CHUNK#~"])
def test_a_partition_is_read_in_its_order(
    database: Database, *, backwards: bool, after: str | None, high: str | None
) -> None:
    assert_no_scan(database, *page_of_partition("p", "CHUNK#", high, after, backwards=backwards, limit=100))


@pytest.mark.parametrize("index", INDEXES, ids=lambda index: f"{index.table.name}-{index.name}")
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("is_later", [False, True], ids=["first", "later"])
@pytest.mark.parametrize("up_to", [None, 5])
def test_a_page_of_an_index_is_read_from_the_index_alone(
    database: Database, index: Index, *, backwards: bool, is_later: bool, up_to: int | None
) -> None:
    position = dict.fromkeys((index.partition, index.sort, *index.table.value), 1) if is_later else None
    statement, values = page_of_index(index, 1, up_to, position, backwards=backwards, limit=50)

    assert_no_scan(database, statement, values)
    assert all("COVERING INDEX" in step for step in plan(database, statement, values))


def test_statements_of_queues_use_their_indexes(database: Database) -> None:
    seen: list[str] = []
    with database.writing() as connection:
        connection.set_trace_callback(seen.append)
    queue = SqliteQueue(database, ManualClock(), "turns", visibility=60.0, max_receives=3)
    queue.put("one", line="a", dedupe="1")
    queue.put("two", line="a", dedupe="2")
    (received,) = queue.receive(limit=10)
    queue.set_visibility(received.receipt, 0.0)
    (again,) = queue.receive(limit=10)
    queue.done(again.receipt)
    queue.release_all()
    with database.writing() as connection:
        connection.set_trace_callback(None)

    statements = {one for one in seen if one.startswith(("SELECT", "UPDATE", "DELETE"))}
    assert len(statements) >= 6
    for statement in statements:
        assert_no_scan(database, statement, ())
