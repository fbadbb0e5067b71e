"""Every kind of condition on values, missing attributes, nested paths and types."""

import pytest

from shared.ports.conditions import (
    Condition,
    absent,
    at_least,
    at_most,
    both,
    differs,
    either,
    equals,
    holds,
    more_than,
    one_of,
    present,
    unless_more_than,
)
from shared.ports.tables import Check, ConditionFailed, Delete, Put, Table, Tables, Update
from tests.support.table_backends import FAILED_ITEM, Backend

KEY = {"handoff_id": "h"}
ITEM = {
    **KEY,
    "text": "b",
    "number": 5,
    "zero": 0,
    "yes": True,
    "no": False,
    "bytes": b"b",
    "list": ["b"],
    "map": {"text": "b", "number": 5, "yes": True, "inner": {"text": "c"}},
}
TRUE: list[Condition] = [
    equals("text", "b"),
    equals("number", 5),
    equals("yes", value=True),
    equals("map.text", "b"),
    equals("map.inner.text", "c"),
    differs("text", "a"),
    differs("number", 6),
    differs("yes", value=False),
    differs("text", 5),
    differs("number", "5"),
    differs("yes", 1),
    differs("zero", value=False),
    differs("missing", "b"),
    differs("map.missing", "b"),
    differs("missing.text", "b"),
    differs("text.inner", "b"),
    differs("list", "b"),
    absent("missing"),
    absent("map.missing"),
    absent("missing.text"),
    absent("text.inner"),
    present("text"),
    present("no"),
    present("zero"),
    present("map"),
    present("map.inner.text"),
    at_most("number", 5),
    at_most("number", 6),
    at_least("number", 5),
    at_least("number", -6),
    more_than("number", 4),
    more_than("map.number", 4),
    unless_more_than("number", 5),
    unless_more_than("text", 1),
    unless_more_than("yes", 0),
    unless_more_than("list", 0),
    unless_more_than("missing", 1),
    unless_more_than("text.inner", 1),
    unless_more_than("missing.text", 1),
    both(unless_more_than("missing", 1), equals("text", "b")),
    one_of("text", ["a", "b"]),
    one_of("number", [5]),
    either(equals("text", "a"), equals("text", "b")),
    both(equals("text", "b"), equals("number", 5)),
    either(both(equals("text", "b"), at_most("number", 4)), both(present("yes"), absent("missing"))),
    both(either(absent("text"), present("number")), differs("text", "a")),
]
FALSE: list[Condition] = [
    equals("text", "a"),
    equals("text", "B"),
    equals("text", 5),
    equals("number", "5"),
    equals("number", 6),
    equals("yes", 1),
    equals("zero", value=False),
    equals("no", 0),
    equals("bytes", "b"),
    equals("list", "b"),
    equals("map", "b"),
    equals("missing", "b"),
    equals("map.missing", "b"),
    equals("missing.text", "b"),
    equals("text.inner", "b"),
    differs("text", "b"),
    differs("map.inner.text", "c"),
    absent("text"),
    absent("map.text"),
    present("missing"),
    present("map.missing"),
    present("text.inner"),
    at_most("number", 4),
    at_most("text", 9),
    at_most("yes", 9),
    at_most("missing", 9),
    at_most("map.missing", 9),
    at_least("number", 6),
    at_least("text", 0),
    at_least("missing", 0),
    more_than("number", 5),
    more_than("yes", 0),
    more_than("missing", -1),
    unless_more_than("number", 4),
    unless_more_than("map.number", 4),
    one_of("text", ["a", "c"]),
    one_of("number", ["5"]),
    one_of("yes", [1]),
    one_of("missing", ["a"]),
    either(equals("text", "a"), equals("text", "c")),
    both(equals("text", "b"), equals("number", 6)),
    both(either(absent("text"), present("missing")), present("text")),
]


@pytest.fixture
def stored(tables: Tables) -> Tables:
    tables.put(Put(Table.HANDOFFS, ITEM))
    return tables


@pytest.mark.parametrize("condition", TRUE, ids=repr)
def test_a_write_whose_condition_holds_is_done(stored: Tables, condition: Condition) -> None:
    assert holds(condition, ITEM)
    stored.transact([Check(Table.HANDOFFS, KEY, [condition])])
    assert stored.update(Update(Table.HANDOFFS, KEY, [condition], set={"done": True})) == {**ITEM, "done": True}


@pytest.mark.parametrize("condition", FALSE, ids=repr)
def test_a_write_whose_condition_fails_changes_nothing(stored: Tables, condition: Condition) -> None:
    assert not holds(condition, ITEM)
    with pytest.raises(ConditionFailed):
        stored.transact([Check(Table.HANDOFFS, KEY, [condition])])
    with pytest.raises(ConditionFailed):
        stored.update(Update(Table.HANDOFFS, KEY, [condition], set={"done": True}))
    assert stored.get(Table.HANDOFFS, KEY) == ITEM


def test_all_conditions_of_a_write_must_hold(stored: Tables) -> None:
    conditions = [equals("text", "b"), equals("number", 6)]
    with pytest.raises(ConditionFailed):
        stored.update(Update(Table.HANDOFFS, KEY, conditions, set={"done": True}))
    assert stored.get(Table.HANDOFFS, KEY) == ITEM


@pytest.mark.parametrize("condition", [absent("handoff_id"), differs("text", "b"), absent("map.text")], ids=repr)
def test_a_missing_item_has_no_attributes(tables: Tables, condition: Condition) -> None:
    tables.put(Put(Table.HANDOFFS, ITEM, [condition]))
    assert tables.get(Table.HANDOFFS, KEY) == ITEM


def test_a_failed_put_reports_the_item(stored: Tables, backend: Backend) -> None:
    backend.needs(FAILED_ITEM)
    with pytest.raises(ConditionFailed) as failed:
        stored.put(Put(Table.HANDOFFS, {**KEY, "text": "new"}, [absent("handoff_id")]))
    assert failed.value.items == [ITEM]


def test_a_failed_update_reports_the_item(stored: Tables, backend: Backend) -> None:
    backend.needs(FAILED_ITEM)
    with pytest.raises(ConditionFailed) as failed:
        stored.update(Update(Table.HANDOFFS, KEY, [absent("text")], set={"text": "new"}))
    assert failed.value.items == [ITEM]


def test_a_failed_delete_reports_the_item(stored: Tables, backend: Backend) -> None:
    backend.needs(FAILED_ITEM)
    with pytest.raises(ConditionFailed) as failed:
        stored.delete(Delete(Table.HANDOFFS, KEY, [equals("text", "a")]))
    assert failed.value.items == [ITEM]
    assert stored.get(Table.HANDOFFS, KEY) == ITEM


def test_a_failed_write_on_a_missing_item_reports_an_empty_item(tables: Tables) -> None:
    with pytest.raises(ConditionFailed) as failed:
        tables.update(Update(Table.HANDOFFS, KEY, [present("text")], set={"text": "new"}))
    assert failed.value.items == [{}]
    assert tables.get(Table.HANDOFFS, KEY) is None
