"""The databases and `holds` agree on any condition and any item."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from shared.ports.tables import Check, ConditionFailed, Put, Table, Tables
from tests.support.table_backends import DATABASES

KEY = {"handoff_id": "h"}
NAMES = st.sampled_from(["a", "b", "m"])
SCALARS = st.sampled_from(["", "a", "1", 0, 1, -1, 10, True, False])
VALUES = st.recursive(
    SCALARS | st.sampled_from([b"a", b""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner | st.none(), max_size=3),
    max_leaves=6,
)
ITEMS = st.dictionaries(NAMES, VALUES, max_size=3)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(".".join)
NUMBERS = st.sampled_from([-1, 0, 1, 2, 10])
TESTS: st.SearchStrategy[Condition] = st.one_of(
    st.builds(equals, PATHS, SCALARS),
    st.builds(differs, PATHS, SCALARS),
    st.builds(absent, PATHS),
    st.builds(present, PATHS),
    st.builds(at_most, PATHS, NUMBERS),
    st.builds(at_least, PATHS, NUMBERS),
    st.builds(more_than, PATHS, NUMBERS),
    st.builds(unless_more_than, PATHS, NUMBERS),
    st.builds(one_of, PATHS, st.lists(SCALARS, min_size=1, max_size=3)),
)
CONDITIONS = st.recursive(
    TESTS,
    lambda inner: st.one_of(st.builds(either, inner, inner), st.builds(both, inner, inner)),
    max_leaves=4,
)


def passes(tables: Tables, conditions: list[Condition]) -> bool:
    try:
        tables.transact([Check(Table.HANDOFFS, KEY, conditions)])
    except ConditionFailed:
        return False
    return True


@pytest.mark.parametrize("backend", DATABASES[1:], indirect=True)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(item=ITEMS, conditions=st.lists(CONDITIONS, min_size=1, max_size=8))
def test_a_database_and_holds_agree(tables: Tables, item: dict[str, Any], conditions: list[Condition]) -> None:
    tables.put(Put(Table.HANDOFFS, {**KEY, **item}))
    assert [passes(tables, [condition]) for condition in conditions] == [
        holds(condition, item) for condition in conditions
    ]
