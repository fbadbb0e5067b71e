"""`/new` and `/resume X`: they close what was said before them, say so, and end the turn that answers it."""

from collections.abc import Callable

import pytest

from shared.domain.routes import Place
from shared.store.inbox import InboxRow
from tests.support.use_case_world import World

LEFT = "was not answered: send it again"


@pytest.fixture
def place(world: World) -> Place:
    """The thread of a session that was handed over; another session is in its terminal."""
    world.session("s-2", [{"role": "user", "content": "older"}])
    place = world.moved()[1]
    world.runs.waiting.clear()
    return place


def answered(world: World, place: Place) -> list[str]:
    return world.platform.said(place)[1:]


def say_before_the_agent_starts(world: World, place: Place, *texts: str) -> None:
    for number, text in enumerate(texts, start=1):
        world.say(place, text, f"000{number}")
    for _ in texts:
        assert world.turn() is not None


def test_the_words_before_it_are_closed_and_those_after_it_answered(world: World, place: Place) -> None:
    say_before_the_agent_starts(world, place, "one", "/new", "three")
    world.turns()

    told, reply = answered(world, place)
    assert LEFT in told
    here = world.store.sessions.at(place)
    assert here not in (None, "s-1")
    assert [message["content"] for message in world.transcript(str(here))] == ["three", reply]
    assert len(world.transcript("s-1")) == 4


def test_resume_closes_them_alike(world: World, place: Place) -> None:
    say_before_the_agent_starts(world, place, "one", "/resume s-2", "three")
    world.turns()

    told, reply = answered(world, place)
    assert "is here now" in told
    assert LEFT in told
    assert [message["content"] for message in world.transcript("s-2")] == ["older", "three", reply]


@pytest.mark.parametrize("command", ["/new", "/resume s-2"])
def test_a_turn_at_work_ends_and_its_reply_is_dropped(world: World, place: Place, command: str) -> None:
    def work() -> str:
        world.say(place, command, "0002")
        assert world.turn() is not None
        assert world.current("s-1").turn is None
        return "too late"

    world.agent.next.append(work)
    world.say(place, "one", "0001")
    world.turns()

    (told,) = answered(world, place)
    assert LEFT in told
    assert len(world.transcript("s-1")) == 4
    assert world.store.turns.unsettled("s-1") == [], "what it left is settled"
    assert world.current("s-1").owner.is_cli


@pytest.mark.parametrize("command", ["/new", "/resume s-2"])
def test_without_words_before_it_nothing_is_said_of_them(world: World, place: Place, command: str) -> None:
    world.say(place, command, "0001")
    world.turns()

    (told,) = answered(world, place)
    assert LEFT not in told


def listing(world: World, place: Place) -> None:
    world.say(place, "/resume", "0002")


def the_same(world: World, place: Place) -> None:
    world.say(place, "/resume s-1", "0002")


def unknown(world: World, place: Place) -> None:
    world.say(place, "/resume no-such-session", "0002")


@pytest.mark.parametrize("command", [listing, the_same, unknown])
def test_a_resume_that_moves_nothing_closes_nothing(
    world: World, place: Place, command: Callable[[World, Place], None]
) -> None:
    def work() -> str:
        command(world, place)
        assert world.turn() is not None
        return "an answer"

    world.agent.next.append(work)
    world.say(place, "one", "0001")
    world.turns()

    told, reply = answered(world, place)
    assert LEFT not in told
    assert reply == "an answer"


def test_another_users_words_are_left_alone(world: World, place: Place) -> None:
    bobs = InboxRow(place, "0001", "bob-there", "mine", world.clock.now(), "bob")
    world.store.inbox.put(bobs)
    world.say(place, "/new", "0002")
    world.turn()

    row = world.store.inbox.get(place, "0001")
    assert row is not None
    assert row.done_by == "ignored"  # the look after the command found no session of theirs; the command closed nothing
    world.turns()
    (told,) = answered(world, place)
    assert LEFT not in told


def test_a_second_copy_of_the_command_changes_nothing(world: World, place: Place) -> None:
    world.say(place, "/new", "0001")
    world.turns()
    here = world.store.sessions.at(place)
    world.say(place, "two", "0002")
    world.queue.forget()
    world.say(place, "/new", "0001")
    world.turns()

    assert world.store.sessions.at(place) == here
    assert len(answered(world, place)) == 2
    assert answered(world, place)[1] == "reply to 1"
