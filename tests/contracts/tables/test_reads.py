"""Reads by key, by partition and by index."""

from collections.abc import Sequence
from typing import Any

import pytest

from shared.ports.tables import (
    DUE,
    HANDOFFS_BY_USER,
    SESSIONS_BY_USER,
    SESSIONS_DUE,
    Delete,
    Index,
    Put,
    Table,
    Tables,
    Update,
)
from tests.support.table_backends import Backend


def put_rows(tables: Tables, pk: str, sort_keys: Sequence[str], **values: Any) -> None:
    for sk in sort_keys:
        tables.put(Put(Table.SESSIONS, {"pk": pk, "sk": sk, **values}))


def queried(tables: Tables, pk: str, **range_: Any) -> list[str]:
    return [row["sk"] for row in tables.query(pk, **range_)]


def test_an_item_that_does_not_exist_is_none(tables: Tables) -> None:
    assert tables.get(Table.SESSIONS, {"pk": "p", "sk": "s"}) is None
    assert tables.get(Table.HANDOFFS, {"handoff_id": "h"}) is None


def test_get_many_keeps_the_order_and_leaves_out_missing_items(tables: Tables) -> None:
    put_rows(tables, "p", [f"{number:03}" for number in range(130)], n=1)
    keys = [{"pk": "p", "sk": f"{number:03}"} for number in reversed(range(150))]
    assert [item["sk"] for item in tables.get_many(Table.SESSIONS, keys)] == [
        f"{number:03}" for number in reversed(range(130))
    ]
    assert tables.get_many(Table.SESSIONS, []) == []


def test_a_query_without_high_matches_a_prefix(tables: Tables) -> None:
    put_rows(tables, "p", ["A#1", "A#2", "A", "AB#1", "B#1"])
    put_rows(tables, "q", ["A#9"])
    assert queried(tables, "p", low="A#") == ["A#1", "A#2"]
    assert queried(tables, "p", low="A") == ["A", "A#1", "A#2", "AB#1"]
    assert queried(tables, "p", low="C") == []
    assert queried(tables, "nothing", low="A") == []


def test_a_prefix_is_case_sensitive(backend: Backend) -> None:
    if backend.name == "dynoxide":
        pytest.xfail("dynoxide 1.2.1 compares prefixes without regard to case; DynamoDB does not")
    put_rows(backend.tables, "p", ["A#1", "a#1"])
    assert queried(backend.tables, "p", low="A#") == ["A#1"]


def test_a_query_with_high_includes_both_ends(tables: Tables) -> None:
    put_rows(tables, "p", ["a", "b", "b1", "c", "d"])
    assert queried(tables, "p", low="b", high="c") == ["b", "b1", "c"]
    assert queried(tables, "p", low="b", high="c", backwards=True) == ["c", "b1", "b"]
    assert queried(tables, "p", low=" ", high="\U0010ffff") == ["a", "b", "b1", "c", "d"]
    assert queried(tables, "p", low="e", high="f") == []


@pytest.mark.parametrize("page", [None, 1, 3, 7, 100])
def test_a_query_goes_on_over_its_pages(tables: Tables, page: int | None) -> None:
    names = [f"{number:03}" for number in range(7)]
    put_rows(tables, "p", names)
    assert queried(tables, "p", low="0", page=page) == names
    assert queried(tables, "p", low="000", high="005", backwards=True, page=page) == names[5::-1]


def test_a_query_of_more_than_a_megabyte_is_whole(tables: Tables) -> None:
    put_rows(tables, "p", ["a", "b", "c", "d"], data=bytes(390 * 1024))
    assert [len(row["data"]) for row in tables.query("p", low="a", high="d")] == [390 * 1024] * 4


def test_a_query_sees_each_item_as_it_is(tables: Tables) -> None:
    put_rows(tables, "p", ["a"], map={"b": [1, None]})
    assert list(tables.query("p", low="a")) == [{"pk": "p", "sk": "a", "map": {"b": [1, None]}}]


def test_a_scan_sees_every_item_of_one_table_once(tables: Tables) -> None:
    for number in range(130):
        tables.put(Put(Table.SESSIONS, {"pk": f"p-{number % 7}", "sk": f"{number:03}", "n": number}))
    tables.put(Put(Table.HANDOFFS, {"handoff_id": "h", "data": b"\x00", "map": {"a": [None]}}))
    assert sorted(item["n"] for item in tables.scan(Table.SESSIONS)) == list(range(130))
    assert list(tables.scan(Table.HANDOFFS)) == [{"handoff_id": "h", "data": b"\x00", "map": {"a": [None]}}]


def test_a_scan_of_more_than_a_megabyte_is_whole(tables: Tables) -> None:
    put_rows(tables, "p", ["a", "b", "c", "d"], data=bytes(390 * 1024))
    assert sorted(item["sk"] for item in tables.scan(Table.SESSIONS)) == ["a", "b", "c", "d"]


def test_a_scan_of_an_empty_table_is_empty(tables: Tables) -> None:
    assert list(tables.scan(Table.HANDOFFS)) == []


def test_items_may_be_deleted_while_they_are_scanned(tables: Tables) -> None:
    put_rows(tables, "p", [f"{number:03}" for number in range(250)])
    seen = []
    for item in tables.scan(Table.SESSIONS):
        seen.append(item["sk"])
        tables.delete(Delete(Table.SESSIONS, Table.SESSIONS.key_of(item)))
    assert sorted(seen) == [f"{number:03}" for number in range(250)]
    assert list(tables.scan(Table.SESSIONS)) == []


# --- indexes


def put_handoff(tables: Tables, handoff_id: str, **values: Any) -> None:
    tables.put(Put(Table.HANDOFFS, {"handoff_id": handoff_id, **values}))


def indexed(tables: Tables, index: Index, value: Any, **range_: Any) -> list[str]:
    return ["".join(index.table.key_of(row).values()) for row in tables.index(index, value, **range_).rows]


def test_an_index_holds_only_items_with_both_attributes(tables: Tables) -> None:
    put_handoff(tables, "due", due_shard=1, due_at=5)
    put_handoff(tables, "other-shard", due_shard=2, due_at=5)
    put_handoff(tables, "no-time", due_shard=1)
    put_handoff(tables, "no-shard", due_at=5)
    assert indexed(tables, DUE, 1) == ["due"]


def test_an_index_follows_its_items(tables: Tables) -> None:
    put_handoff(tables, "a", due_shard=1, due_at=5)
    put_handoff(tables, "b", due_shard=1, due_at=6)
    put_handoff(tables, "c", due_shard=1, due_at=7)
    tables.update(Update(Table.HANDOFFS, {"handoff_id": "a"}, [], set={"due_at": 8}))
    tables.update(Update(Table.HANDOFFS, {"handoff_id": "b"}, [], set={"due_at": None, "due_shard": None}))
    assert indexed(tables, DUE, 1) == ["c", "a"]
    tables.delete(Delete(Table.HANDOFFS, {"handoff_id": "c"}))
    assert indexed(tables, DUE, 1) == ["a"]


def test_rows_of_an_index_hold_only_keys(tables: Tables) -> None:
    put_handoff(tables, "a", due_shard=1, due_at=5, user_id="ada", created_at=3, text="b")
    assert tables.index(DUE, 1).rows == [{"handoff_id": "a", "due_shard": 1, "due_at": 5}]
    assert tables.index(HANDOFFS_BY_USER, "ada").rows == [{"handoff_id": "a", "user_id": "ada", "created_at": 3}]


def test_a_session_has_due_items_beside_others(tables: Tables) -> None:
    put_rows(tables, "s", ["META"], user_id="ada", created_at=3)
    put_rows(tables, "s", ["RT#1"], due_shard=1, due_at=6, user="ada")
    put_rows(tables, "s", ["RT#2"], due_shard=1, due_at=5, user="ada")
    put_handoff(tables, "another table", due_shard=1, due_at=5)
    rows = [{"pk": "s", "sk": f"RT#{name}", "due_shard": 1, "due_at": at} for name, at in ((2, 5), (1, 6))]
    assert tables.index(SESSIONS_DUE, 1).rows == rows
    assert tables.index(SESSIONS_DUE, 1, up_to=5).rows == rows[:1]
    tables.update(Update(Table.SESSIONS, {"pk": "s", "sk": "RT#2"}, [], set={"due_at": 7}))
    tables.delete(Delete(Table.SESSIONS, {"pk": "s", "sk": "RT#1"}))
    assert indexed(tables, SESSIONS_DUE, 1) == ["sRT#2"]


def test_an_index_is_ordered_by_number(tables: Tables) -> None:
    for number in (30, 4, 100):
        put_handoff(tables, str(number), due_shard=1, due_at=number)
    assert indexed(tables, DUE, 1) == ["4", "30", "100"]
    assert indexed(tables, DUE, 1, backwards=True) == ["100", "30", "4"]
    assert indexed(tables, DUE, 1, up_to=30) == ["4", "30"]
    assert indexed(tables, DUE, 1, up_to=30, backwards=True, limit=1) == ["30"]
    assert indexed(tables, DUE, 1, up_to=3) == []


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 5, 6])
def test_pages_of_an_index_go_on_where_the_last_one_ended(tables: Tables, limit: int, backwards: bool) -> None:
    for number in range(5):
        put_rows(tables, f"p-{number}", ["META"], user_id="ada", created_at=number // 2)
        put_rows(tables, f"q-{number}", ["META"], user_id="eve", created_at=number)
    pages = [tables.index(SESSIONS_BY_USER, "ada", limit=limit, backwards=backwards)]
    while pages[-1].next:
        pages.append(tables.index(SESSIONS_BY_USER, "ada", limit=limit, backwards=backwards, after=pages[-1].next))
    rows = [row for page in pages for row in page.rows]
    assert max(len(page.rows) for page in pages) <= limit
    assert sorted(row["pk"] for row in rows) == [f"p-{number}" for number in range(5)]
    times = [row["created_at"] for row in rows]
    assert times == sorted(times, reverse=backwards)


def test_a_page_below_its_limit_is_the_last(tables: Tables) -> None:
    put_handoff(tables, "a", due_shard=1, due_at=5)
    assert tables.index(DUE, 1, limit=2).next is None
    assert tables.index(DUE, 2).next is None


def test_a_position_need_not_be_an_item(tables: Tables) -> None:
    for number in range(4):
        put_rows(tables, f"p-{number}", ["META"], user_id="ada", created_at=number)
    position = {"pk": "p-9", "sk": "META", "user_id": "ada", "created_at": 2}
    rows = tables.index(SESSIONS_BY_USER, "ada", backwards=True, after=position).rows
    assert [row["created_at"] for row in rows][-2:] == [1, 0]
