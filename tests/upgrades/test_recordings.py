"""What an earlier release has stored and queued is read, and its work is finished, by this one."""

from shared.domain.handoffs import State
from shared.ports.queue import InboxEvent, Kickoff, Notice, Show, WakeUp
from shared.ports.tables import Table
from shared.store.bundle import store_on
from shared.use_cases.runners.live_turn import TurnName
from shared.use_cases.runners.report_turn import Report, report_turn
from shared.use_cases.runners.take_result import MachineResult, take_result
from tests.support.machine import digest_of, press
from tests.support.use_case_world import USER, World
from tests.upgrades.every_state import drive, handoffs_of
from tests.upgrades.recording import RELEASE_1, played
from tests.upgrades.test_unknown_values import read
from tests.upgrades.test_unknown_values_of_machines import read as read_of_machine

CHATS, MACHINE = f"{RELEASE_1}-chats", f"{RELEASE_1}-machine"


def test_a_recording_has_every_kind_of_queue_message() -> None:
    queued = [played(name)[0].queue.waiting for name in (CHATS, MACHINE)]
    kinds = {type(one.message) for waiting in queued for one in waiting}
    assert kinds == {InboxEvent, Kickoff, Notice, Show, WakeUp}


def test_every_item_of_the_first_release_is_read() -> None:
    for name, read_item in ((CHATS, read), (MACHINE, read_of_machine)):
        _, tables = played(name)
        store = store_on(tables)
        for table in Table:
            for item in tables.scan(table):
                read_item(store, item)


def test_the_work_of_the_first_release_is_finished() -> None:
    world, tables = played(CHATS)
    drive(world)
    assert not [one for one in handoffs_of(world) if one.is_open]
    assert world.transcript("completed")[-3]["content"] == "I write in the thread"
    states = {item["sk"]: item["state"] for item in tables.scan(Table.SESSIONS) if item["sk"].startswith("OUT#")}
    assert set(states.values()) == {"sent", "rejected"}
    assert {one.state for one in handoffs_of(world)} == {State.COMPLETED, State.FAILED, State.CANCELLED}


def running(world: World) -> TurnName:
    turn = world.current().turn
    assert turn is not None
    return TurnName(USER, "laptop", "s-1", turn.id, turn.fence)


def test_a_turn_that_the_first_release_has_begun_goes_on() -> None:
    world, _ = played(MACHINE)
    place, name = world.current().owner, running(world)
    world.messages()
    heard = report_turn(world.services, name, Report(90))
    assert [(one.number, one.option) for one in heard.decided] == [(2, "yes")]
    assert [word.text for word in heard.steered] == ["And that."]
    assert press(world, place, f"q.{name.turn_id}.{name.fence}.1.2") == "Reject."
    assert press(world, place, f"q.{name.turn_id}.{name.fence}.3.0") == "Allow."
    heard = report_turn(world.services, name, Report(91, acknowledged=["q2", "0003"]))
    assert [(one.number, one.option) for one in heard.decided] == [(1, "no"), (3, "yes")]
    assert heard.steered == []
    given, reply = ["0001", "0002", "0003"], {"role": "assistant", "content": "All of it."}
    take_result(world.services, name, MachineResult(digest_of([reply], given), [reply], "All of it.", given))
    world.messages()
    assert world.platform.said(place)[-1] == "All of it."
    assert world.store.questions.of("s-1", name.turn_id) == []
    assert world.current().turn is None
