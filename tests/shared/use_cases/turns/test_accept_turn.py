"""Turns of a terminal: accepted and offered in one write, at one epoch, and sent again by a repeat."""

from dataclasses import replace

import pytest

from shared.domain.limits import Limits
from shared.domain.routes import cli_place
from shared.errors import Moved, SessionBusy, SessionSuspended, TooManyTurns, UnknownSession
from shared.ports.queue import Run
from shared.store.bundle import store_on
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.turns.accept_turn import accept_turn
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import TURN_LEASE, USER, World


def accept(world: World, turn_id: str, text: str, *, epoch: int = 0) -> None:
    accept_turn(world.services, USER, "s-1", epoch=epoch, turn_id=turn_id, text=text)


def said(world: World) -> list[str]:
    """What the transcript has behind its first two messages."""
    return [message["content"] for message in world.transcript()[2:]]


def is_untouched(world: World, turn_id: str = "t-1") -> bool:
    """Whether nothing was written or sent for a turn that was refused."""
    row = world.store.inbox.get(cli_place("s-1"), turn_id)
    return row is None and not world.runs.waiting and not world.store.turns.unsettled("s-1")


def test_a_turn_is_offered_with_its_row_and_sent(world: World) -> None:
    world.session()
    accept(world, "t-1", "do it")

    turn = world.current().turn
    (offer,) = world.store.turns.unsettled("s-1")
    assert turn is not None
    assert (turn.id, turn.is_claimed) == (offer.id, False)
    assert (offer.rows, offer.place, offer.epoch) == (("t-1",), cli_place("s-1"), 0)
    now = world.clock.now()
    assert world.runs.waiting == [(Run("s-1", turn.id), now), (Run("s-1", turn.id), now + TURN_LEASE)]
    assert world.queue.waiting == [], "no hop by the queue of places"


def test_a_repeat_offers_nothing_and_sends_the_run_again(world: World) -> None:
    world.session()
    accept(world, "t-1", "do it")
    before = world.current()
    world.runs.take()  # the process died, or its answer was lost

    accept(world, "t-1", "do it")

    assert world.current() == before
    assert len(world.store.turns.unsettled("s-1")) == 1
    world.turns()
    assert said(world) == ["do it", "reply to 3"]


def test_a_repeat_after_the_reply_sends_nothing(world: World) -> None:
    world.session()
    accept(world, "t-1", "do it")
    world.turns()
    world.wait(TURN_LEASE / 1000)
    world.agents()

    accept(world, "t-1", "do it")

    assert (world.runs.waiting, world.queue.waiting) == ([], [])
    assert said(world) == ["do it", "reply to 3"]


def test_a_second_turn_is_refused_until_the_first_is_over(world: World) -> None:
    world.session()
    accept(world, "t-1", "first")
    world.runs.waiting.clear()
    with pytest.raises(SessionBusy):
        accept(world, "t-2", "second")
    assert world.store.inbox.get(cli_place("s-1"), "t-2") is None
    world.wait(10 * TURN_LEASE / 1000)
    with pytest.raises(SessionBusy):
        accept(world, "t-2", "second")


def test_an_old_epoch_is_refused(world: World) -> None:
    world.session()
    resume_session(world.services, USER, "s-1", epoch=0)
    with pytest.raises(Moved):
        accept(world, "t-1", "too late")
    assert is_untouched(world)


def test_a_suspended_session_refuses(world: World) -> None:
    session = world.session()
    world.store.sessions.replace(session, replace(session, suspended=True))
    with pytest.raises(SessionSuspended, match="transcript is saved"):
        accept(world, "t-1", "hi")
    assert is_untouched(world)


def test_another_users_session_is_unknown(world: World) -> None:
    world.session()
    with pytest.raises(UnknownSession):
        accept_turn(world.services, "bob", "s-1", epoch=0, turn_id="t-1", text="mine?")
    assert is_untouched(world)


def test_a_turn_over_the_limit_of_the_hour_is_refused() -> None:
    world = World(store_on(MemoryTables(), Limits(turns_per_hour=1)))
    world.session()
    accept(world, "t-1", "first")
    accept(world, "t-1", "first")
    world.turns()
    world.wait(TURN_LEASE / 1000)
    world.agents()

    with pytest.raises(TooManyTurns):
        accept(world, "t-2", "second")
    assert is_untouched(world, "t-2")


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

    assert [message["content"] for message in world.agent.given[0] if message["role"] == "user"][1:] == [
        "list the tables"
    ]
    *answered, notice = said(world)
    assert "was not run" in notice
    assert "drop the table" in notice
    assert answered == ["list the tables", "reply to 3"]


def test_an_old_turn_without_its_wake_up_is_not_run_either(world: World) -> None:
    world.session()
    accept(world, "t-1", "drop the table")
    resume_session(world.services, USER, "s-1", epoch=0)
    world.queue.waiting.clear()
    world.runs.waiting.clear()
    accept(world, "t-2", "list the tables", epoch=1)

    world.turns()

    assert [message["content"] for message in world.agent.given[0] if message["role"] == "user"][1:] == [
        "list the tables"
    ]
    assert "was not run" in "\n".join(said(world)), "the end of the new turn tells of the old one"
