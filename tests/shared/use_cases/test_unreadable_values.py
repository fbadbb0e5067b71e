"""Stored values that cannot be read: the thread goes on, whatever one attribute of one item holds."""

import copy
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.domain.interruptions import Standing, standing
from shared.domain.progress import Summary
from shared.domain.routes import Place
from shared.errors import NotSent, RequestRefused
from shared.ports.tables import Item, Put, Table, Update
from shared.store.bundle import store_on
from shared.store.keys import meta_key
from shared.use_cases.runners.live_turn import TurnName
from shared.use_cases.runners.report_turn import Report, report_turn
from tests.support.machine import Machine, post, press
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World
from tests.upgrades.every_state import drive

ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=2**63)
    | st.integers(max_value=-(2**63) - 1)
    | st.text(max_size=5)
    | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=2),
    max_leaves=4,
)
Scene = tuple[World, Place]
Path = tuple[str, ...]


def scene(tables: MemoryTables) -> Scene:
    world = World(store_on(tables))
    return world, world.moved()[1]


def idle(tables: MemoryTables) -> Scene:
    return scene(tables)


def marked(tables: MemoryTables) -> Scene:
    world, place = scene(tables)
    mark = {"reason": "killed", "at": world.clock.now()}
    changes = {"resume_pending": mark, "shared": True, "questions": 2, "native_seen": 3, "native_dirty": True}
    tables.update(Update(Table.SESSIONS, meta_key("s-1"), [], set=changes))
    return world, place


def offered(tables: MemoryTables) -> Scene:
    world, place = scene(tables)
    world.say(place, "Hello", "0001")
    world.turn()
    assert world.current().turn
    return world, place


def claimed(tables: MemoryTables) -> Scene:
    """The process of the agent has died."""
    world, place = offered(tables)
    now, rows = world.clock.now(), world.store.inbox.new(place, limit=9)
    world.store.turns.claim(world.current(), rows, claim_id="c", now=now, lease_until=now + 60_000)
    return world, place


def waiting(tables: MemoryTables) -> Scene:
    """A reply is committed and not delivered."""
    world, place = offered(tables)
    world.agents()
    world.platform.next["send"].append(NotSent("down"))
    world.turn()
    return world, place


def sending(tables: MemoryTables) -> Scene:
    """The process died while it sent a reply."""
    world, place = offered(tables)
    world.agents()
    world.platform.next["send"].append(RuntimeError("killed"))
    with suppress(RuntimeError):
        world.turn()
    return world, place


def asking(tables: MemoryTables) -> Scene:
    """The user's own agent is at work, and asks."""
    world = World(store_on(tables))
    machine = Machine(world)
    place = machine.moved()
    post(world, place, "0001", "And?")
    machine.start()
    machine.report(said="I look.", tool="make", summary=Summary(1, 2, 3))
    machine.ask(1)
    world.messages()
    return world, place


def paths_of(item: Item) -> Iterator[tuple[Path, Any]]:
    """Every attribute, and those in maps. Not the keys, of the table and of its indexes: tables refuse odd values there."""
    for name, value in item.items():
        if name not in ("pk", "sk", "user_id", "created_at", "due_shard", "due_at"):
            yield (name,), value
            if isinstance(value, Mapping):
                yield from (((name, inner), each) for inner, each in value.items())


def of_the_thread(tables: MemoryTables, place: Place) -> list[tuple[Item, Path, Any]]:
    items = [item for item in tables.scan(Table.SESSIONS) if item["pk"] in ("SESSION#s-1", f"INBOX#{place.route}")]
    kinds = ("META", "OUT#", "RT#", "Q#")
    concerned = [item for item in items if item["pk"].startswith("INBOX#") or item["sk"].startswith(kinds)]
    return [(item, path, value) for item in concerned for path, value in paths_of(item)]


def spoil(tables: MemoryTables, item: Item, path: Path, value: Any) -> None:
    spoiled = copy.deepcopy(item)
    parent = spoiled if len(path) == 1 else spoiled[path[0]]
    parent[path[-1]] = value
    tables.put(Put(Table.SESSIONS, spoiled))


def is_odd(value: Any, old: Any, path: Path) -> bool:
    """Whether it cannot be read. Another text may be the word of a newer version, and a greater `v` is one."""
    return type(value) is not type(old) or (isinstance(value, int) and path != ("v",))


def answered(world: World, place: Place) -> bool:
    """Let the person write, the runner go on and everybody work for an hour: whether the thread says something new."""
    before = len(world.platform.said(place))
    world.say(place, "And now?", "0900")
    drive(world)
    return len(world.platform.said(place)) > before


@pytest.mark.parametrize("make", [idle, marked, offered, claimed, waiting, sending])
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_value_that_cannot_be_read_never_mutes_a_thread(
    make: Callable[[MemoryTables], Scene], data: st.DataObject
) -> None:
    tables = MemoryTables()
    world, place = make(tables)
    item, path, old = data.draw(st.sampled_from(of_the_thread(tables, place)))
    odd = data.draw(ODD.filter(lambda value: is_odd(value, old, path)))
    spoil(tables, item, path, odd)
    assert answered(world, place), (item, path, odd)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_value_that_cannot_be_read_never_mutes_the_thread_of_a_machine(data: st.DataObject) -> None:
    tables = MemoryTables()
    world, place = asking(tables)
    item, path, old = data.draw(st.sampled_from(of_the_thread(tables, place)))
    spoil(tables, item, path, data.draw(ODD.filter(lambda value: is_odd(value, old, path))))
    before = world.platform.said(place)

    session = world.store.sessions.get("s-1")
    if session is not None and (turn := session.turn):
        press(world, place, f"q.{turn.id}.{turn.fence}.1.0")
        post(world, place, "0002", "Also this.")
        with suppress(RequestRefused):
            name = TurnName(USER, "laptop", "s-1", turn.id, turn.fence)
            report_turn(world.services, name, Report(9, said="Still.", acknowledged=["0002", "q1"]))
    world.wait(3600)
    world.sweep()
    post(world, place, "0003", "/stop")
    post(world, place, "0004", "/cloud")
    post(world, place, "0005", "And now?")
    drive(world)

    assert len(world.platform.said(place)) > len(before), (item, path)


@pytest.mark.parametrize("at", ["soon", None, True, [], {"x": 1}, b"1", -1, 10**30])
def test_a_mark_whose_time_cannot_be_read_is_as_old_as_the_session(at: Any) -> None:
    tables = MemoryTables()
    world, place = marked(tables)
    spoil(tables, tables.get(Table.SESSIONS, meta_key("s-1")) or {}, ("resume_pending", "at"), at)
    session = world.current()
    assert standing(session, now=session.updated_at, freshness=1) is Standing.RESUMING
    assert standing(session, now=session.updated_at + 2, freshness=1) is Standing.EXPIRED
    assert answered(world, place)
    assert any(note and "was interrupted" in note for note in world.agent.notes)


def test_what_was_unreadable_is_replaced_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    tables = MemoryTables()
    world, place = idle(tables)
    tables.update(Update(Table.SESSIONS, meta_key("s-1"), [], set={"turn": "x", "questions": "many"}))
    before = world.current().version
    with caplog.at_level(logging.ERROR):
        assert answered(world, place)
    stored = tables.get(Table.SESSIONS, meta_key("s-1")) or {}
    assert "turn" not in stored
    assert stored["questions"] == before, "no number of a question is given twice"
    assert sum("could not be read" in record.getMessage() for record in caplog.records) == 1
