"""Turns, questions and runners with values that this version does not know, and without what is optional."""

import contextlib

from functions.views import RunnerView, SessionView
from shared.domain.progress import Summary
from shared.errors import RequestRefused
from shared.ports.queue import Run
from shared.ports.tables import Item, Put
from shared.store.bundle import Store, store_on
from shared.use_cases.runners.live_turn import TurnName
from shared.use_cases.runners.register import poll
from shared.use_cases.runners.report_turn import Report, report_turn
from shared.use_cases.turns.execute_turn import execute_turn
from tests.support.machine import Machine, post, press
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World
from tests.upgrades.test_unknown_values import kind_of, one_of_each, try_all, variants

OF_MACHINES = ("RT", "Q", "RUNNER", "TURN")


def at_work(tables: MemoryTables) -> World:
    """A machine at work, with progress, two questions and words that came later; an earlier turn is settled."""
    world = World(store_on(tables))
    machine = Machine(world)
    place = machine.moved()
    post(world, place, "0001", "And?")
    machine.start()
    machine.report(said="I look.", tool="make", summary=Summary(1, 2, 3))
    machine.ask(1)
    machine.ask(2)
    world.messages()
    press(world, place, f"q.{machine.turn.id}.1.2.0")
    post(world, place, "0002", "Also this.")
    return world


def read(store: Store, item: Item) -> None:
    """Read an item through every port that shows it."""
    session_id: str = item.get("pk", "").removeprefix("SESSION#")
    name: str = item.get("sk", "").partition("#")[2]
    match kind_of(item):
        case "META":
            session = store.sessions.get(item["session_id"])
            assert session is not None
            assert SessionView.of(session, now=0).id == session.id
        case "RT":
            offer = store.turns.get(session_id, name)
            assert (offer is None) == ("route" not in item or item.get("v") == 99)  # else it hides no others
            assert (offer in store.turns.unsettled(session_id)) == (offer is not None and not offer.is_settled)
            store.turns.due(now=10**14, limit=1000)
        case "Q":
            turn_id, fence, number = name.split("#")
            question = store.questions.get(session_id, turn_id, int(fence), int(number))
            assert question is not None
            assert question in store.questions.of(session_id, turn_id)
            assert question.messages(1000, len, buttons=True)
        case "RUNNER":
            runner = store.runners.get(USER, name)
            assert runner is not None
            assert runner in store.runners.list(USER)
            assert RunnerView.of(runner, now=0).id == runner.id
        case "TURN":
            assert name in {pointer.turn_id for pointer in store.runners.waiting(USER, "laptop")[0]}


def go_on(world: World) -> None:
    """The runner polls and reports; later the sweep, a run and the place look at the turn; the user stops it."""
    turn, place = world.current().turn, world.current().owner
    assert turn is not None
    name = TurnName(USER, "laptop", "s-1", turn.id, turn.fence)
    with contextlib.suppress(RequestRefused):
        poll(world.services, USER, "laptop")
    with contextlib.suppress(RequestRefused):
        report_turn(world.services, name, Report(9, said="Still.", acknowledged=["0002", "q2"]))
    world.messages()
    world.wait(3600)
    world.sweep()
    execute_turn(world.services, Run("s-1", turn.id), remaining=60_000)
    world.messages()
    post(world, place, "0003", "/stop")


def test_items_of_machines_are_read_with_unknown_or_missing_values() -> None:
    tables = MemoryTables()
    at_work(tables)

    tried = try_all(tables, read)

    assert {kind for kind, _ in tried} >= {*OF_MACHINES, "META"}
    assert {("META", "another turn.by"), ("META", "another turn.state"), ("Q", "another state")} <= tried
    assert {
        ("RT", "progress of another type"),
        ("RT", "without result.digest"),
        ("RT", "runs_on of another type"),
    } <= tried


def test_turns_go_on_with_unknown_or_missing_values() -> None:
    """Whatever one item says, nothing raises but what the contract names: a place and the sweep are never blocked."""
    tables = MemoryTables()
    at_work(tables)
    for table, seen in one_of_each(tables):
        if kind_of(seen) not in OF_MACHINES:
            continue
        for change, _ in variants(seen):
            fresh = MemoryTables()
            world = at_work(fresh)
            (item,) = [each for each in fresh.scan(table) if table.key_of(each) == table.key_of(seen)]
            fresh.put(Put(table, dict(variants(item))[change]))
            try:
                go_on(world)
            except Exception as error:
                raise AssertionError(f"{kind_of(seen)} {change}: {error!r}") from error
