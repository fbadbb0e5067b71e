"""Deleting a session: what keeps it, and what does not."""

import pytest

from shared.errors import HandoffInFlight
from shared.ports.tables import Delete, Table
from shared.store.bundle import store_on
from shared.store.keys import handoff_key
from shared.use_cases.sessions.save_session import delete_session
from tests.support.machine import Machine, post
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import HOME, TURN_LEASE, USER, World


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


def test_a_deleted_sessions_title_is_in_no_item() -> None:
    tables = MemoryTables()
    world = World(store_on(tables))
    world.session()
    world.say(HOME, "/resume", "e-1")
    world.turns()
    assert "Parser" in world.platform.said(HOME)[-1]

    delete_session(world.services, USER, "s-1")

    left = [item for table in Table for item in tables.scan(table) if "Parser" in repr(item)]
    assert left == []


def test_a_deleted_sessions_machine_keeps_nothing_of_it() -> None:
    """Not the turn that it fell asleep over, its pointer, progress and question, nor the words in the thread."""
    tables = MemoryTables()
    world = World(store_on(tables))
    machine = Machine(world)
    place = machine.moved()
    post(world, place, "0001", "And?")
    machine.start()
    machine.report(said="I look at it.")
    machine.ask()
    post(world, place, "0002", "Also this.")
    post(world, place, "0003", "/status")
    assert any(item["pk"].startswith("SESSION#at-") for item in tables.scan(Table.SESSIONS))
    world.wait(TURN_LEASE / 1000)

    delete_session(world.services, USER, "s-1")

    left = [(item["pk"], item["sk"]) for table in Table for item in tables.scan(table) if "s-1" in repr(item)]
    assert left == []
    assert machine.poll() == []
    assert [item for item in tables.scan(Table.SESSIONS) if item["pk"].startswith(("SESSION#", "INBOX#"))] == []
