"""Wake-ups that come in another order than what they were sent for."""

import pytest

from shared.domain.routes import Place
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.turns import answer_inbox
from tests.support.use_case_world import USER, World


def resumed(world: World) -> Place:
    """The thread of a session that has gone back to its terminal."""
    session, thread = world.moved()
    resume_session(world.services, USER, session.id, epoch=session.epoch)
    world.turns()
    return thread


def test_words_whose_wake_up_overtakes_a_moving_command_are_answered(world: World) -> None:
    thread = resumed(world)
    world.say(thread, "And now?", "e2")
    world.say(thread, "/resume s-1", "e1")

    world.turns()

    assert [message["content"] for message in world.transcript()][-2] == "And now?"
    assert [row.event_id for row in world.store.inbox.new(thread, limit=9)] == []


def test_a_moving_command_that_dies_before_it_looks_is_repeated(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    thread = resumed(world)
    world.say(thread, "/resume s-1", "e1")
    with monkeypatch.context() as patched:
        patched.setattr(answer_inbox, "look_at_inbox", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            world.turn()
    world.say(thread, "And now?", "e2")
    world.queue.waiting.pop()  # read before the command was done, so it found nothing to do

    world.turns()

    assert [message["content"] for message in world.transcript()][-2] == "And now?"
