"""What a newer version wrote, met after a rollback or during a deployment: left alone, and tried again soon."""

from dataclasses import replace
from typing import Any

import pytest

from functions.turn.handler import build
from shared.domain.handoffs import Handoff, Reason, State
from shared.domain.limits import Limits
from shared.errors import NewerVersion
from shared.ports.tables import Item, Key, Put, Table
from shared.store.bundle import store_on
from shared.use_cases.deliver import deliver, say
from shared.use_cases.turns.run_turn import UNREADABLE_LONGEST
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World
from tests.upgrades.every_state import drive, handoffs_of

NEWER: list[Item] = [{"v": 99}, {"state": "word-of-a-newer-version"}]


@pytest.fixture
def tables() -> MemoryTables:
    return MemoryTables()


@pytest.fixture
def world(tables: MemoryTables) -> World:
    return World(store_on(tables, Limits(open_handoffs=9, turns_per_hour=99, stored_bytes=10**6)))


def change(tables: MemoryTables, table: Table, key: Key, **changes: Any) -> None:
    item = tables.get(table, key)
    assert item is not None
    tables.put(Put(table, {**item, **changes}))


def make_newer(tables: MemoryTables, handoff: Handoff, changes: Item) -> Item:
    """Change a stored handoff; returns it as it is then."""
    change(tables, Table.HANDOFFS, {"handoff_id": handoff.id}, **changes)
    stored = tables.get(Table.HANDOFFS, {"handoff_id": handoff.id})
    assert stored is not None
    return stored


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 900_000


class Hidden:
    """The visibility of one message: every time-out that was set."""

    def __init__(self) -> None:
        self.seconds: list[int] = []

    def set(self, seconds: int) -> None:
        self.seconds.append(seconds)


@pytest.mark.parametrize(
    "body", ['{"v":2,"place":"chat:home","event_id":"1"}', '{"v":1,"place":"chat:home"}', "no json"]
)
@pytest.mark.parametrize("tries", [1, 100])
def test_an_unreadable_queue_message_comes_back_soon(world: World, body: str, tries: int) -> None:
    hidden = Hidden()
    attributes = {"ApproximateReceiveCount": str(tries)}
    record = {"messageId": "m", "receiptHandle": "r", "body": body, "attributes": attributes}
    answer = build(replace(world.services, visibility=lambda _: hidden))({"Records": [record]}, Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m"}]}
    assert hidden.seconds == [2 if tries == 1 else UNREADABLE_LONGEST]
    assert not world.agent.given


@pytest.mark.parametrize("changes", NEWER)
def test_a_newer_handoff_is_shown_as_running_and_not_driven(world: World, tables: MemoryTables, changes: Item) -> None:
    world.session()
    handoff = world.ask()
    stored = make_newer(tables, handoff, {"state": "running", **changes})
    shown = world.latest(handoff)
    assert (shown.state, shown.is_open, shown.is_newer) == (State.RUNNING, True, True)
    assert handoffs_of(world) == [shown]

    world.wait(10_000)
    world.process(handoff)
    world.sweep()
    now, reason = world.clock.now(), Reason("x", "y")
    assert world.store.handoffs.cancel(shown, reason, now=now) is None
    assert world.store.handoffs.expire(shown, reason, now=now) is None
    assert tables.get(Table.HANDOFFS, {"handoff_id": handoff.id}) == stored


@pytest.mark.parametrize("changes", NEWER)
def test_the_kickoff_of_a_newer_handoff_waits_in_the_queue(world: World, tables: MemoryTables, changes: Item) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    make_newer(tables, handoff, changes)
    for _ in range(5):
        assert world.agents()
        world.wait(60)
    assert not world.agent.given
    make_newer(tables, handoff, {"v": 1, "state": "running"})
    drive(world)
    assert world.latest(handoff).state is State.COMPLETED


@pytest.mark.parametrize(("step", "state"), [("completed", State.COMPLETED), ("delivered", State.FAILED)])
def test_an_unknown_state_that_expires_has_ended(world: World, tables: MemoryTables, step: str, state: State) -> None:
    world.session()
    handoff = world.ask()
    make_newer(tables, handoff, {"state": "archived", "expires_at": 9, "steps": {step: 1}})
    assert world.latest(handoff).state is state
    assert not world.latest(handoff).is_open


def test_a_session_with_a_newer_handoff_can_be_resumed(world: World, tables: MemoryTables) -> None:
    world.session()
    make_newer(tables, world.ask(), {"state": "word-of-a-newer-version"})
    back = world.store.moves.to_terminal(world.current(), now=world.clock.now())
    assert (back.epoch, back.active_handoff) == (1, None)


def test_an_inbox_row_in_an_unknown_status_is_left_alone(world: World, tables: MemoryTables) -> None:
    _, place = world.moved()
    asked = len(world.agent.given)
    world.say(place, "Hello", "0001")
    key = {"pk": f"INBOX#{place.route}", "sk": "0001"}
    change(tables, Table.SESSIONS, key, status="word-of-a-newer-version")
    world.turn()
    assert len(world.agent.given) == asked
    change(tables, Table.SESSIONS, key, status="new")
    drive(world)
    assert world.transcript()[-2]["content"] == "Hello"


@pytest.mark.parametrize("changes", NEWER)
def test_a_part_in_an_unknown_state_is_not_sent(world: World, tables: MemoryTables, changes: Item) -> None:
    _, place = world.moved()
    say(world.services, place, "First", key="n-1")
    (part,) = world.store.outbox.journal(f"at-{place.route}", "n-1")
    key = {"pk": f"SESSION#{part.session_id}", "sk": "OUT#n-1#0000"}
    change(tables, Table.SESSIONS, key, **{"state": "waiting", **changes})
    posted = world.platform.said(place)
    with pytest.raises(NewerVersion):
        deliver(world.services, part.session_id, "n-1")
    assert world.platform.said(place) == posted


def test_a_transcript_in_a_newer_form_is_refused_for_now(world: World, tables: MemoryTables) -> None:
    session = world.session()
    change(tables, Table.SESSIONS, {"pk": f"SESSION#{session.id}", "sk": "CHUNK#0000000000"}, v=99)
    with pytest.raises(NewerVersion, match="newer version"):
        world.transcript()
    assert [each.id for each in world.store.sessions.list(USER, limit=9).sessions] == [session.id]


def test_a_turn_on_a_transcript_in_a_newer_form_waits(world: World, tables: MemoryTables) -> None:
    _, place = world.moved()
    key, asked = {"pk": "SESSION#s-1", "sk": "CHUNK#0000000000"}, len(world.agent.given)
    change(tables, Table.SESSIONS, key, v=99)
    world.say(place, "Hello", "0001")
    world.turn()
    for _ in range(5):
        world.agents()
        world.wait(60)
    assert len(world.agent.given) == asked
    change(tables, Table.SESSIONS, key, v=1)
    drive(world)
    assert world.transcript()[-2]["content"] == "Hello"
    assert world.agent.notes[-1] is None


def test_every_item_is_written_with_its_version(world: World, tables: MemoryTables) -> None:
    world.store.accounts.add_token(USER, "hash")
    world.store.accounts.mark_used(USER, "hash", "2026-01-31")
    _, place = world.moved()
    world.say(place, "Hello", "0001")
    drive(world)
    items = [item for table in Table for item in tables.scan(table)]
    assert [Table.SESSIONS.key_of(item) for item in items if "sk" in item and item.get("v") != 1] == []
    kinds = {item["sk"].split("#")[0] for item in items if "sk" in item}
    assert {"META", "CHUNK", "OUT", "ROUTE", "HOME", "IDENTITY", "PERSON", "TOKEN", "USAGE", "0001"} <= kinds
    assert all(item["v"] == 1 for item in tables.scan(Table.HANDOFFS))
