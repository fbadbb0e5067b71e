"""Turns of a terminal: at which epoch they run, and what a lost wake-up costs."""

import pytest

from shared.errors import SessionBusy
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.turns.accept_turn import ACCEPTED_LEASE, accept_turn
from tests.support.use_case_world import USER, World


def accept(world: World, turn_id: str, text: str, *, epoch: int = 0) -> None:
    accept_turn(world.services, USER, "s-1", epoch=epoch, turn_id=turn_id, text=text)


def said(world: World) -> list[str]:
    """What the transcript has behind its first two messages."""
    return [message["content"] for message in world.transcript()[2:]]


def test_a_turn_of_an_older_epoch_is_not_run(world: World) -> None:
    world.session()
    accept(world, "t-1", "drop the table")
    resume_session(world.services, USER, "s-1", epoch=0)

    world.turns()

    assert world.agent.given == []
    (notice,) = said(world)
    assert "was not run" in notice
    assert "drop the table" in notice


def test_a_turn_of_the_new_epoch_is_run_without_the_old_one(world: World) -> None:
    world.session()
    accept(world, "t-1", "drop the table")
    resume_session(world.services, USER, "s-1", epoch=0)
    accept(world, "t-2", "list the tables", epoch=1)

    world.turns()

    notice, *answered = said(world)
    assert "was not run" in notice
    assert answered == ["list the tables", "reply to 4"]


def test_an_old_turn_without_its_wake_up_is_not_run_either(world: World) -> None:
    world.session()
    accept(world, "t-1", "drop the table")
    world.queue.waiting.clear()
    resume_session(world.services, USER, "s-1", epoch=0)
    accept(world, "t-2", "list the tables", epoch=1)

    world.turns()

    assert [message["content"] for message in world.agent.given[0] if message["role"] == "user"][1:] == [
        "list the tables"
    ]


def test_the_next_turn_heals_a_lost_wake_up(world: World) -> None:
    world.session()
    accept(world, "t-1", "first")
    world.queue.waiting.clear()
    world.wait(ACCEPTED_LEASE / 1000)
    accept(world, "t-2", "second")
    began = world.clock.now()

    world.turns()

    assert world.clock.now() == began, "it does not wait for the lease of its own message"
    assert said(world) == ["first", "second", "reply to 4"]


def test_a_refused_turn_wakes_the_accepted_one(world: World) -> None:
    world.session()
    accept(world, "t-1", "first")
    world.queue.waiting.clear()
    world.queue.forget()
    with pytest.raises(SessionBusy):
        accept(world, "t-2", "second")

    world.turns()

    assert said(world) == ["first", "reply to 3"]
