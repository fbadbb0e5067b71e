"""Put, update, delete and delete_all."""

from typing import Any

import pytest

from shared.ports.conditions import equals
from shared.ports.tables import MAX_ITEM_BYTES, Delete, InvalidOperation, Put, Table, Tables, Update

KEY = {"pk": "p", "sk": "s"}
VALUES: dict[str, Any] = {
    "text": "Zoë 🚀",
    "empty": "",
    "number": -12,
    "large": 1_700_000_000_000,
    "yes": True,
    "no": False,
    "bytes": b"\x00\xff",
    "list": [1, "a", None, [True], {"b": b"c"}],
    "map": {"inner": {"text": "a", "none": None}, "empty": {}},
}


def changed(tables: Tables, **changes: Any) -> Any:
    return tables.update(Update(Table.SESSIONS, KEY, [], **changes))


def test_every_value_is_read_back_as_it_was(tables: Tables) -> None:
    tables.put(Put(Table.SESSIONS, {**KEY, **VALUES}))
    assert tables.get(Table.SESSIONS, KEY) == {**KEY, **VALUES}


def test_a_put_replaces_the_whole_item(tables: Tables) -> None:
    tables.put(Put(Table.SESSIONS, {**KEY, "a": 1}))
    tables.put(Put(Table.SESSIONS, {**KEY, "b": 2, "c": None}))
    assert tables.get(Table.SESSIONS, KEY) == {**KEY, "b": 2}


def test_an_item_that_was_read_is_a_copy(tables: Tables) -> None:
    given: dict[str, Any] = {**KEY, "map": {"a": [1]}}
    tables.put(Put(Table.SESSIONS, given))
    given["map"]["a"].append(2)
    read = tables.get(Table.SESSIONS, KEY)
    assert read is not None
    read["map"]["a"].append(3)
    assert tables.get(Table.SESSIONS, KEY) == {**KEY, "map": {"a": [1]}}


def test_an_update_creates_a_missing_item(tables: Tables) -> None:
    assert changed(tables, set={"a": 1}, first={"b": 2}, add={"c": 3}) == {**KEY, "a": 1, "b": 2, "c": 3}
    assert tables.get(Table.SESSIONS, KEY) == {**KEY, "a": 1, "b": 2, "c": 3}


def test_an_update_changes_only_what_it_names(tables: Tables) -> None:
    tables.put(Put(Table.SESSIONS, {**KEY, **VALUES}))
    after = changed(tables, set={"text": "new", "number": None, "missing": None, "map.inner.text": "b"})
    expected = {**KEY, **VALUES, "text": "new", "map": {"inner": {"text": "b", "none": None}, "empty": {}}}
    del expected["number"]
    assert after == tables.get(Table.SESSIONS, KEY) == expected


def test_first_keeps_a_value_that_is_set(tables: Tables) -> None:
    tables.put(Put(Table.SESSIONS, {**KEY, "a": 1, "map": {"b": 2}}))
    after = changed(tables, first={"a": 9, "map.b": 9, "map.c": 9})
    assert after == {**KEY, "a": 1, "map": {"b": 2, "c": 9}}


def test_add_counts_from_zero_and_inside_maps(tables: Tables) -> None:
    tables.put(Put(Table.SESSIONS, {**KEY, "a": 5, "map": {"b": 2}}))
    assert changed(tables, add={"a": 1, "new": 3}) == {**KEY, "a": 6, "new": 3, "map": {"b": 2}}


def test_a_map_may_be_removed(tables: Tables) -> None:
    tables.put(Put(Table.SESSIONS, {**KEY, "map": {"b": 2}}))
    assert changed(tables, set={"map": None}) == KEY


@pytest.mark.parametrize("kind", ["set", "first"])
@pytest.mark.parametrize("path", ["missing.a", "map.missing.a"])
def test_a_path_into_a_missing_map_is_invalid(tables: Tables, kind: str, path: str) -> None:
    before = {**KEY, "map": {}}
    tables.put(Put(Table.SESSIONS, before))
    with pytest.raises(InvalidOperation):
        changed(tables, **{kind: {path: 1}})
    assert tables.get(Table.SESSIONS, KEY) == before


def test_adding_to_a_text_is_invalid(tables: Tables) -> None:
    tables.put(Put(Table.SESSIONS, {**KEY, "text": "a"}))
    with pytest.raises(InvalidOperation):
        changed(tables, set={"other": 1}, add={"text": 1})
    assert tables.get(Table.SESSIONS, KEY) == {**KEY, "text": "a"}


@pytest.mark.parametrize(
    "changes",
    [{"set": {"a": 1}, "add": {"a": 1}}, {"set": {"a": {}, "a.b": 1}}, {"set": {"a": None}, "first": {"a.b": 1}}],
    ids=str,
)
def test_overlapping_paths_are_invalid(tables: Tables, changes: Any) -> None:
    with pytest.raises(InvalidOperation, match="overlap"):
        changed(tables, **changes)


def test_an_update_of_the_key_is_invalid(tables: Tables) -> None:
    with pytest.raises(InvalidOperation, match="key"):
        changed(tables, set={"sk": "other"})


@pytest.mark.parametrize("key", [{"pk": "", "sk": "s"}, {"pk": "p", "sk": ""}], ids=str)
def test_an_empty_key_is_invalid(tables: Tables, key: dict[str, str]) -> None:
    with pytest.raises(InvalidOperation, match="empty"):
        tables.get(Table.SESSIONS, key)
    with pytest.raises(InvalidOperation, match="empty"):
        tables.get_many(Table.SESSIONS, [key])
    with pytest.raises(InvalidOperation, match="empty"):
        tables.put(Put(Table.SESSIONS, {**key, "a": 1}))
    with pytest.raises(InvalidOperation, match="empty"):
        tables.transact([Delete(Table.SESSIONS, key)])


def test_a_float_is_not_stored(tables: Tables) -> None:
    with pytest.raises(TypeError):
        tables.put(Put(Table.SESSIONS, {**KEY, "a": 1.5}))


def test_an_item_over_400_kb_is_invalid(tables: Tables) -> None:
    fits = 400_000  # servers count an item's size slightly differently
    tables.put(Put(Table.SESSIONS, {**KEY, "data": "x" * fits}))
    with pytest.raises(InvalidOperation):
        tables.put(Put(Table.SESSIONS, {**KEY, "data": "x" * (MAX_ITEM_BYTES + 1)}))
    with pytest.raises(InvalidOperation):
        changed(tables, set={"more": "x" * 20_000})
    assert tables.get(Table.SESSIONS, KEY) == {**KEY, "data": "x" * fits}


def test_a_delete_may_be_repeated(tables: Tables) -> None:
    tables.put(Put(Table.SESSIONS, KEY))
    for _ in range(2):
        tables.delete(Delete(Table.SESSIONS, KEY))
        assert tables.get(Table.SESSIONS, KEY) is None


def test_a_delete_with_a_condition_that_holds(tables: Tables) -> None:
    tables.put(Put(Table.SESSIONS, {**KEY, "a": 1}))
    tables.delete(Delete(Table.SESSIONS, KEY, [equals("a", 1)]))
    assert tables.get(Table.SESSIONS, KEY) is None


def test_delete_all_removes_many_and_ignores_missing_items(tables: Tables) -> None:
    keys = [{"pk": "p", "sk": f"{number:03}"} for number in range(60)]
    for key in keys[:-5]:
        tables.put(Put(Table.SESSIONS, key))
    tables.put(Put(Table.SESSIONS, KEY))
    tables.delete_all(Table.SESSIONS, keys)
    assert list(tables.query("p", low=" ", high="~")) == [KEY]
    tables.delete_all(Table.SESSIONS, [])
