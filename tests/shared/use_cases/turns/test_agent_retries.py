"""How often a busy agent is asked again, and that a terminal's session stays busy between two tries."""

import itertools

import pytest

from shared.domain.handoffs import State
from shared.domain.routes import Place
from shared.errors import AgentUnavailable, SessionBusy
from shared.ports.agents import TurnInput
from shared.use_cases.turns.accept_turn import accept_turn
from tests.support.use_case_world import USER, World

BUSY = AgentUnavailable("the model is busy")


def pauses(world: World) -> list[int]:
    """Run the queues dry; returns the seconds that passed before each try of the agent after the first."""
    asked_at: list[int] = []
    ask = world.agent.reply

    def reply(turn: TurnInput) -> str:
        asked_at.append(world.clock.now())
        return ask(turn)

    world.agent.reply = reply  # type: ignore[method-assign]  # only the time is noted
    world.turns()
    world.agent.reply = ask  # type: ignore[method-assign]
    return [(later - earlier) // 1000 for earlier, later in itertools.pairwise(asked_at)]


@pytest.fixture
def place(world: World) -> Place:
    return world.moved()[1]


def test_a_busy_agent_is_asked_five_times(world: World, place: Place) -> None:
    world.agent.next.extend([BUSY] * 5)
    world.say(place, "And?", "0001")

    assert pauses(world) == [10, 20, 40, 60]

    (told,) = world.platform.said(place)[1:]
    assert "I tried several times" in told
    assert "Your message is saved" in told
    assert world.transcript()[-2]["content"] == "And?"


def test_a_busy_agent_says_when_to_come_back(world: World, place: Place) -> None:
    world.agent.next.append(AgentUnavailable("busy", after=300))
    world.say(place, "And?", "0001")

    assert pauses(world) == [300], "not at the delayed copy of the run, which comes before"


def test_the_sweep_does_not_ask_a_busy_agent_early(world: World, place: Place) -> None:
    world.agent.next.append(AgentUnavailable("busy", after=300))
    world.say(place, "And?", "0001")
    world.turn()
    world.agents()
    for _ in range(4):
        world.wait(60)
        world.sweep()
        world.agents()
    assert len(world.agent.given) == 2, "the kickoff, and the busy one"

    world.turns()
    assert world.platform.said(place)[1:] == ["reply to 5"]


def test_a_busy_agent_is_asked_three_times_for_a_kickoff(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    world.agent.next.extend([BUSY] * 3)

    assert pauses(world) == [10, 20]

    failed = world.latest(handoff)
    assert failed.error is not None
    assert (failed.state, failed.error.code) == (State.FAILED, "agent_failed")
    assert world.current().owner.is_cli


def test_the_third_kickoff_try_may_still_succeed(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    world.agent.next.extend([BUSY] * 2)

    assert pauses(world) == [10, 20]

    assert world.latest(handoff).state is State.COMPLETED


def test_a_kickoff_is_not_tried_again_behind_its_deadline(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    world.agent.next.append(AgentUnavailable("busy", after=10_000))

    assert pauses(world) == []

    assert world.latest(handoff).state is State.FAILED


def test_waiting_does_not_use_up_the_agents_tries(world: World, place: Place) -> None:
    world.say(place, "And?", "0001")
    world.turn()
    run = world.runs.receive()
    assert run is not None
    for _ in range(50):  # copies of the run that find the turn claimed
        world.runs.send(run)
    world.agent.next.extend([BUSY] * 4)

    assert pauses(world) == [10, 20, 40, 60]

    assert world.platform.said(place)[-1] == "reply to 5"


def test_each_message_has_its_own_tries(world: World, place: Place) -> None:
    for event in ("0001", "0002"):
        world.agent.next.extend([BUSY] * 5)
        world.say(place, "And?", event)
        assert len(pauses(world)) == 4


def test_a_terminals_session_stays_busy_until_its_next_try(world: World) -> None:
    world.session()
    accept_turn(world.services, USER, "s-1", epoch=0, turn_id="0001", text="And?")
    world.agent.next.append(AgentUnavailable("busy", after=30))
    world.agents()

    for _ in range(4):
        with pytest.raises(SessionBusy):
            accept_turn(world.services, USER, "s-1", epoch=0, turn_id="0002", text="And now?")
        with pytest.raises(SessionBusy):
            world.ask()
        world.wait(30)

    world.turns()
    accept_turn(world.services, USER, "s-1", epoch=0, turn_id="0002", text="And now?")
    world.turns()
    assert [message["content"] for message in world.transcript()[2:]] == [
        "And?",
        "reply to 3",
        "And now?",
        "reply to 5",
    ]
