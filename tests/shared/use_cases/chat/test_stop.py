"""`/stop`: what it ends at once, and what it leaves alone."""

import pytest

from shared.domain.handoffs import State
from shared.domain.routes import Place
from shared.use_cases.chat.commands import ANOTHER_USERS
from tests.support.machine import arrive
from tests.support.use_case_world import World


@pytest.fixture
def place(world: World) -> Place:
    """The thread of a session that was handed over: four messages."""
    place = world.moved()[1]
    world.runs.waiting.clear()
    return place


def answered(world: World, place: Place) -> list[str]:
    return world.platform.said(place)[1:]


def words(world: World) -> list[str]:
    return [message["content"] for message in world.transcript()[4:] if message["role"] == "user"]


def stop_while_it_works(world: World, place: Place, event_id: str = "0002") -> None:
    """Let the next turn be stopped while the agent works on it."""

    def work() -> str:
        arrive(world, place, event_id, "/stop")
        assert world.current().turn is None, "the turn is over before the webhook is answered"
        return "the stopped answer"

    world.agent.next.append(work)


def test_a_turn_at_work_ends_at_once_and_its_reply_is_dropped(world: World, place: Place) -> None:
    stop_while_it_works(world, place)
    arrive(world, place, "0001", "one")
    world.turns()

    (told,) = answered(world, place)
    assert "Stopped" in told
    assert len(world.transcript()) == 4
    assert world.current().resume_pending is None
    assert world.store.turns.unsettled("s-1") == []


def test_an_offered_turn_is_stopped_before_it_starts(world: World, place: Place) -> None:
    arrive(world, place, "0001", "one")
    world.turn()
    arrive(world, place, "0002", "/stop")
    world.turns()

    assert len(world.agent.given) == 1, "the kickoff"
    assert ["Stopped" in text for text in answered(world, place)] == [True]


def test_words_that_wait_behind_the_turn_are_stopped_too(world: World, place: Place) -> None:
    stop_while_it_works(world, place, "0004")
    arrive(world, place, "0001", "one")
    world.turn()
    arrive(world, place, "0002", "two")
    arrive(world, place, "0003", "three")
    world.turns()

    assert words(world) == []
    assert len(answered(world, place)) == 1


def test_the_session_goes_on_with_the_next_words(world: World, place: Place) -> None:
    stop_while_it_works(world, place)
    arrive(world, place, "0001", "one")
    world.turns()
    arrive(world, place, "0003", "two")
    world.turns()

    assert words(world) == ["two"]
    assert answered(world, place)[1:] == ["reply to 5"]
    assert world.agent.notes[-1] is None, "a turn that was stopped was not interrupted"


@pytest.mark.parametrize("state", ["offered", "claimed"])
def test_a_late_copy_stops_nothing_that_was_said_after_it(world: World, place: Place, state: str) -> None:
    arrive(world, place, "0001", "/stop")
    world.turns()
    arrive(world, place, "0002", "go on")
    world.turn()

    def work() -> str:
        arrive(world, place, "0001", "/stop")
        return "an answer"

    if state == "offered":
        arrive(world, place, "0001", "/stop")
    else:
        world.agent.next.append(work)
    world.turns()

    assert words(world) == ["go on"]
    assert answered(world, place)[1:] == ["an answer" if state == "claimed" else "reply to 5"]


def test_a_late_stop_keeps_the_words_after_it(world: World, place: Place) -> None:
    """The platform delivers `/stop` after words that were said later, while one turn answers all of them."""
    arrive(world, place, "0001", "one")
    arrive(world, place, "0003", "three")
    stop_while_it_works(world, place, "0002")
    world.turns()

    assert words(world) == ["three"]
    assert "reply to 5" in answered(world, place)
    assert "the stopped answer" not in answered(world, place)


def test_a_kickoff_is_not_stopped(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    place = world.current().owner

    def work() -> str:
        arrive(world, place, "0001", "/stop")
        assert world.turn() is not None
        return "I am here"

    world.agent.next.append(work)
    world.turns()

    told, confirmation = world.platform.said(place)
    assert "is not stopped" in told
    assert confirmation == "I am here"
    assert world.latest(handoff).state is State.COMPLETED


def test_words_before_the_kickoff_are_stopped(world: World) -> None:
    world.session()
    world.process(world.ask())
    place = world.current().owner
    arrive(world, place, "0001", "am I early?")
    arrive(world, place, "0002", "/stop")
    world.turns()

    assert words(world) == []
    assert len(world.agent.given) == 1, "the kickoff"


def test_another_users_stop_stops_nothing(world: World, place: Place) -> None:
    world.store.accounts.add_identity("bob", "chat", "bob-there")

    def work() -> str:
        arrive(world, place, "0003", "/stop", sender="bob-there")
        assert world.current().turn is not None
        return "an answer"

    world.agent.next.append(work)
    arrive(world, place, "0001", "one")
    world.turn()
    arrive(world, place, "0002", "two")
    world.turns()

    assert words(world) == ["one", "two"]
    refused, *replies = sorted(answered(world, place))
    assert refused == ANOTHER_USERS
    assert replies == ["an answer", "reply to 7"]


def test_stop_elsewhere_stops_nothing_here(world: World, place: Place) -> None:
    def work() -> str:
        arrive(world, Place("chat", "home", "t9"), "0002", "/stop")
        return "an answer"

    world.agent.next.append(work)
    arrive(world, place, "0001", "one")
    world.turns()

    assert answered(world, place) == ["an answer"]


@pytest.mark.parametrize("command", ["/stop", "/status", "/help"])
def test_it_does_not_wait_behind_a_reader_that_died(world: World, place: Place, command: str) -> None:
    arrive(world, place, "0001", "one")
    assert world.queue.receive() is not None, "hidden for minutes"

    arrive(world, place, "0002", command)

    assert world.turn() is not None
    assert answered(world, place)
