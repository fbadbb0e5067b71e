"""Requests for a handoff: checked against the session's epoch, once per key."""

from dataclasses import replace

import pytest

from shared.domain.handoffs import Handoff, State
from shared.errors import Moved, WriteFirst
from shared.ports.inbound import WebhookRequest
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.handoffs.request_handoff import HandoffRequest, request_handoff
from tests.support.fake_platform import FakePlatforms
from tests.support.use_case_world import HOME, USER, CompetingAction, World


def test_concurrent_equal_requests_get_the_same_handoff(world: World) -> None:
    world.session()
    first: list[Handoff] = []

    def be_quicker() -> None:
        first.append(world.ask())
        world.process(first[0])

    slow = replace(world.services, platforms=CompetingAction(world, be_quicker))

    second = request_handoff(slow, USER, HandoffRequest("s-1", "chat", 0), idempotency_key="k s-1")

    assert second.handoff == world.latest(first[0])
    assert second.session == world.current()


@pytest.mark.parametrize("epoch", [-1, 1])
def test_another_epoch_is_refused_without_a_write(world: World, epoch: int) -> None:
    before = world.session()

    with pytest.raises(Moved):
        world.ask(epoch=epoch)

    assert world.current() == before


DAY = 24 * 3600


@pytest.fixture
def windowed(world: World) -> World:
    """A platform that lets a bot write for a day after the person did; the home has the person's id."""
    platforms = world.services.platforms
    assert isinstance(platforms, FakePlatforms)
    platforms.window_seconds = DAY
    world.store.accounts.add_identity(USER, "chat", HOME.chat)
    world.session()
    return world


def heard(world: World, at: int, sender: str = HOME.chat) -> None:
    line = f"heard||{sender}|{at}"
    receive_message(world.services, "chat", WebhookRequest(line.encode(), {"signature": "good"}))


@pytest.mark.parametrize("seconds", [None, DAY, 3 * DAY])
def test_a_handoff_to_a_silent_person_is_refused_with_what_to_do(windowed: World, seconds: int | None) -> None:
    world = windowed
    if seconds is not None:
        heard(world, world.clock.now())
        world.wait(seconds)

    with pytest.raises(WriteFirst, match="Send it /status"):
        world.ask()

    assert world.current().active_handoff is None
    heard(world, world.clock.now())
    assert world.ask().state is State.PENDING


def test_a_late_report_of_old_words_opens_no_window(windowed: World) -> None:
    heard(windowed, windowed.clock.now() - DAY * 1000)
    heard(windowed, windowed.clock.now(), sender="stranger")

    with pytest.raises(WriteFirst):
        windowed.ask()


def test_a_time_to_come_counts_as_now(windowed: World) -> None:
    heard(windowed, windowed.clock.now() + 5 * DAY * 1000)
    windowed.wait(DAY)

    with pytest.raises(WriteFirst):
        windowed.ask()
