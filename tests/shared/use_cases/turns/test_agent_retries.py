"""How often an agent is asked again, and how long a terminal's turn stays accepted between two tries."""

import pytest

from shared.domain.handoffs import State
from shared.domain.routes import Place
from shared.errors import AgentUnavailable, SessionBusy
from shared.use_cases.turns.accept_turn import accept_turn
from tests.support.use_case_world import USER, World

BUSY = AgentUnavailable("the model is busy")


def receives(world: World) -> list[int]:
    """Run the queue dry; returns the seconds that passed before each receive after the first."""
    pauses = []
    assert world.turn()
    while world.queue.waiting:
        due = world.queue.next_at()
        pauses.append((due - world.clock.now()) // 1000)
        world.clock.time = due
        assert world.turn()
    return pauses


@pytest.fixture
def place(world: World) -> Place:
    return world.moved()[1]


def test_a_busy_agent_is_asked_five_times(world: World, place: Place) -> None:
    world.agent.next.extend([BUSY] * 5)
    world.say(place, "And?", "0001")

    assert receives(world) == [10, 20, 40, 60]

    assert "I tried several times" in world.platform.said(place)[-1]


def test_the_fifth_try_may_still_succeed(world: World, place: Place) -> None:
    world.agent.next.extend([BUSY] * 4)
    world.say(place, "And?", "0001")

    assert len(receives(world)) == 4

    assert world.platform.said(place)[-1] == "reply to 5"


def test_a_busy_agent_is_asked_three_times_for_a_kickoff(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    world.agent.next.extend([BUSY] * 3)

    assert receives(world) == [5, 5]

    assert len(world.agent.given) == 3
    assert world.latest(handoff).state is State.FAILED


def test_the_third_kickoff_try_may_still_succeed(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    world.agent.next.extend([BUSY] * 2)

    assert receives(world) == [5, 5]

    assert world.latest(handoff).state is State.COMPLETED


def test_waiting_does_not_use_up_the_agents_tries(world: World, place: Place) -> None:
    world.say(place, "And?", "0001")
    world.queue.waiting[0].tries = 50  # it waited for another turn
    world.agent.next.extend([BUSY] * 4)

    assert receives(world) == [10, 20, 40, 60]

    assert world.platform.said(place)[-1] == "reply to 5"


def test_waiting_does_not_use_up_the_tries_of_a_kickoff(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    world.queue.waiting[0].tries = 50
    world.agent.next.extend([BUSY] * 2)

    assert receives(world) == [5, 5]

    assert world.latest(handoff).state is State.COMPLETED


def test_each_message_has_its_own_tries(world: World, place: Place) -> None:
    for event in ("0001", "0002"):
        world.agent.next.extend([BUSY] * 5)
        world.say(place, "And?", event)
        assert len(receives(world)) == 4


def test_a_terminals_turn_stays_accepted_for_its_retry(world: World) -> None:
    world.session()
    accept_turn(world.services, USER, "s-1", epoch=0, turn_id="0001", text="And?")
    world.agent.next.append(AgentUnavailable("busy", after=30))
    world.turn()

    world.wait(30 + 120 - 1)
    with pytest.raises(SessionBusy):
        accept_turn(world.services, USER, "s-1", epoch=0, turn_id="0002", text="And now?")

    world.wait(1)
    accept_turn(world.services, USER, "s-1", epoch=0, turn_id="0002", text="And now?")
