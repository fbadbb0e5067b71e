"""Lists of handoffs with a filter: what they find, and how much they read for it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.handoffs import Handoff
from shared.ports.tables import Item, Key, Put, Table
from shared.store.bundle import store_on
from shared.store.handoff_items import item_of
from shared.store.handoff_queries import FILTERED
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World

DAY = 24 * 3600 * 1000
MANY = FILTERED + 500


class CountedTables(MemoryTables):
    """Counts the items that are read together."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def get_many(self, table: Table, keys: Sequence[Key]) -> list[Item]:
        self.reads += len(keys)
        return super().get_many(table, keys)


class Handoffs:
    """Handoffs of sessions that exist, written as they are stored."""

    def __init__(self) -> None:
        self.tables = CountedTables()
        self.world = World(store_on(self.tables))
        self.world.session("s-1")
        self.one = self.world.ask("s-1")

    def add(self, count: int, *, session_id: str, after: int) -> None:
        """The first one is `after` milliseconds later than the session, each other one a millisecond after it."""
        for number in range(count):
            at = self.one.created_at + after + number
            made = replace(self.one, id=f"{session_id}-{at}", session_id=session_id, created_at=at)
            self.tables.put(Put(Table.HANDOFFS, item_of(made, due_at=at)))

    def list(self, **filters: Any) -> Sequence[Handoff]:
        self.tables.reads = 0
        return self.world.store.handoffs.list(USER, **{"session_id": None, "state": None, "limit": 50, **filters})


@pytest.fixture
def handoffs() -> Handoffs:
    return Handoffs()


def test_the_handoff_of_an_old_session_is_found_behind_many(handoffs: Handoffs) -> None:
    handoffs.add(MANY, session_id="s-2", after=3 * DAY)

    assert [found.id for found in handoffs.list(session_id="s-1")] == [handoffs.one.id]
    assert handoffs.tables.reads <= 200


def test_the_handoff_of_a_new_session_is_found_before_many(handoffs: Handoffs) -> None:
    handoffs.add(MANY, session_id="s-2", after=-3 * DAY)

    assert [found.id for found in handoffs.list(session_id="s-1")] == [handoffs.one.id]
    assert handoffs.tables.reads <= 200


@pytest.mark.parametrize("wanted", [{"session_id": "s-1"}, {"state": "failed"}])
def test_a_filter_does_not_read_all_handoffs(handoffs: Handoffs, wanted: dict[str, str]) -> None:
    handoffs.add(MANY, session_id="s-2", after=0)

    handoffs.list(**wanted)

    assert handoffs.tables.reads == FILTERED


@pytest.mark.parametrize("session_id", ["unknown", ""])
def test_an_unknown_session_has_no_handoffs(handoffs: Handoffs, session_id: str) -> None:
    assert handoffs.list(session_id=session_id) == []
    assert handoffs.tables.reads == 0
