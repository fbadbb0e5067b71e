"""Deleting a session: what keeps it, and what does not."""

import pytest

from shared.errors import HandoffInFlight
from shared.ports.tables import Delete, Table
from shared.store.bundle import store_on
from shared.store.keys import handoff_key
from shared.use_cases.sessions.save_session import delete_session
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World


def test_an_open_handoff_keeps_its_session(world: World) -> None:
    world.session()
    world.ask()

    with pytest.raises(HandoffInFlight):
        delete_session(world.services, USER, "s-1")


def test_a_handoff_that_is_gone_does_not_keep_it() -> None:
    tables = MemoryTables()
    world = World(store_on(tables))
    world.session()
    tables.delete(Delete(Table.HANDOFFS, handoff_key(world.ask().id)))

    delete_session(world.services, USER, "s-1")

    assert world.store.sessions.get("s-1") is None
