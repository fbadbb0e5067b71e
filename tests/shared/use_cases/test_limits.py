"""What a user at a limit is told, and what happens to the request or message."""

from typing import Any

import pytest

from shared.domain.handoffs import State
from shared.domain.limits import Limits
from shared.errors import AgentUnavailable, HandoffInFlight, StorageFull, TooManyOpenHandoffs
from shared.store.bundle import store_on
from shared.use_cases.sessions.append_messages import append_messages
from shared.use_cases.sessions.resume_session import fork_session
from shared.use_cases.sessions.save_session import delete_session, save_session
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World

HOUR = 3600


def limited(**limits: int) -> World:
    world = World(store_on(MemoryTables(), Limits(**limits)))
    world.clock.time -= world.clock.time % (HOUR * 1000)
    return world


def test_a_handoff_beyond_the_limit_leaves_its_session_alone() -> None:
    world = limited(open_handoffs=1)
    world.session("s-1")
    world.session("s-2")
    first = world.ask("s-1")
    with pytest.raises(TooManyOpenHandoffs):
        world.ask("s-2")
    assert world.current("s-2").active_handoff is None
    assert world.ask("s-1") == first  # a repeat is no second handoff

    world.process(first)
    world.turns()

    assert world.latest(first).state is State.COMPLETED
    assert world.ask("s-2").state is State.PENDING


def test_a_refused_handoff_is_not_counted() -> None:
    world = limited(open_handoffs=2)
    world.session("s-1")
    world.session("s-2")
    world.ask("s-1")
    for number in range(3):
        with pytest.raises(HandoffInFlight):
            world.ask("s-1", key=f"other {number}")
    world.ask("s-2")


def test_a_chat_is_told_once_that_the_hour_is_used_up() -> None:
    world = limited(turns_per_hour=2)
    _, place = world.moved()
    world.say(place, "answered", "e-1")
    world.turns()
    answered = len(world.agent.given)

    for number in (2, 3):
        world.say(place, "too much", f"e-{number}")
        world.turns()

    assert len(world.agent.given) == answered
    told = [text for text in world.platform.said(place) if "limit" in text]
    assert len(told) == 1
    assert "60 minutes" in told[0]
    assert "send them again" in told[0]
    assert "too much" not in [message["content"] for message in world.transcript()]

    world.wait(HOUR)
    world.say(place, "again", "e-4")
    world.turns()
    assert world.transcript()[-2]["content"] == "again"


def test_a_turn_that_is_retried_counts_once() -> None:
    world = limited(turns_per_hour=3)
    _, place = world.moved()
    world.agent.next.extend([AgentUnavailable("busy", after=1), AgentUnavailable("busy", after=1)])
    for number in (1, 2):
        world.say(place, f"words {number}", f"e-{number}")
        world.turns()
    assert world.transcript()[-2]["content"] == "words 2"


def test_deleting_a_session_makes_room_for_another() -> None:
    world = limited(stored_bytes=200)
    said: list[dict[str, Any]] = [{"role": "user", "content": "x" * 100}]

    def upload(session_id: str) -> None:
        save_session(world.services, USER, session_id, {})
        append_messages(world.services, USER, session_id, epoch=0, after=0, messages=said)

    upload("a")
    upload("a")  # stored already: it costs nothing
    with pytest.raises(StorageFull):
        upload("b")
    with pytest.raises(StorageFull):
        fork_session(world.services, USER, "a")
    assert world.current("b").message_count == 0
    delete_session(world.services, USER, "a")
    upload("b")
    assert world.current("b").message_count == 1
