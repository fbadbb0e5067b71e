"""A platform whose secrets the operator has removed: everything ends, and no agent is asked in vain."""

import contextlib
from collections.abc import Callable

import pytest

from shared.domain.handoffs import State
from shared.errors import NotSent, PlatformNotConfigured, Rejected
from shared.ports.queue import Notice
from shared.use_cases.sessions.save_session import delete_session
from tests.support.use_case_world import USER, World


@pytest.fixture
def remove(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A call that removes the platform's secrets."""

    def no_platform(name: str) -> None:
        raise PlatformNotConfigured(name)

    return lambda: monkeypatch.setattr(world.services.platforms, "get", no_platform)


def test_a_kickoff_fails_before_the_agent_is_asked(world: World, remove: Callable[[], None]) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    remove()

    world.turns()

    failed = world.latest(handoff)
    assert failed.error is not None
    assert (failed.state, failed.error.code) == (State.FAILED, "platform_not_configured")
    assert world.agent.given == []
    assert world.current().owner.is_cli


def test_a_confirmed_handoff_fails_and_frees_its_session(world: World, remove: Callable[[], None]) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    world.platform.next["send"].append(NotSent("down"))
    world.agents()
    world.turn()
    assert world.latest(handoff).confirmed
    remove()

    world.turns()

    assert world.latest(handoff).state is State.FAILED
    assert len(world.agent.given) == 1
    delete_session(world.services, USER, "s-1")
    assert world.store.sessions.get("s-1") is None


@pytest.mark.parametrize("text", ["And?", "/resume s-1", "/sethome"])
def test_words_that_still_wait_are_closed(world: World, remove: Callable[[], None], text: str) -> None:
    _, place = world.moved()
    world.say(place, text, "0001")
    remove()

    assert world.turns() == 1

    assert len(world.agent.given) == 1
    assert not world.store.inbox.new(place, limit=1)


def test_a_reply_that_waits_for_its_delivery_is_dropped(world: World, remove: Callable[[], None]) -> None:
    _, place = world.moved()
    world.platform.next["send"].append(NotSent("down"))
    world.say(place, "And?", "0001")
    world.turn()
    world.agents()
    world.turn()
    remove()

    assert world.turns() <= 2

    assert world.transcript()[-1]["content"] == "reply to 5"
    assert world.store.turns.unsettled("s-1") == []


def test_an_offered_turn_ends_before_the_agent_is_asked(world: World, remove: Callable[[], None]) -> None:
    _, place = world.moved()
    world.say(place, "And?", "0001")
    world.turn()
    assert world.current().turn is not None
    remove()

    world.turns()

    assert len(world.agent.given) == 1, "the kickoff"
    assert (world.current().turn, world.store.turns.unsettled("s-1")) == (None, [])
    assert not world.store.inbox.new(place, limit=1)


def test_a_run_that_the_removal_overtakes_ends_without_a_reply(world: World, remove: Callable[[], None]) -> None:
    _, place = world.moved()

    def remove_first() -> str:
        remove()
        return "too late"

    world.agent.next.append(remove_first)
    world.say(place, "And?", "0001")
    world.turn()
    with contextlib.suppress(Rejected):
        world.agents()
    world.turns()

    assert world.current().turn is None
    assert not world.store.inbox.new(place, limit=1)
    assert len(world.transcript()) == 4


def test_a_notice_is_dropped(world: World, remove: Callable[[], None]) -> None:
    _, place = world.moved()
    world.queue.send(Notice(place, "n-1", "This session went back."), dedupe="n-1")
    remove()

    assert world.turns() == 1
