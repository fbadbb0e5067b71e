"""A platform that is down for an hour: few turn runs, and afterwards everything arrives once and in order."""

from collections.abc import Callable, Mapping

import pytest

from shared.domain.handoffs import Handoff, State
from shared.domain.routes import Place
from shared.errors import AgentFailed, Ambiguous, NotSent, PlatformError, RateLimited
from shared.ports.inbound import WebhookRequest
from shared.store.bundle import Store
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.deliver import REPEAT_MARK
from tests.support.fake_platform import Idempotency
from tests.support.use_case_world import LEASE, USER, World

MINUTE, HOUR = 60_000, 3_600_000
MAX_RECEIVES = 100  # as in the template
MOST_RUNS = 60


def pass_time(world: World, duration: int, events: Mapping[int, Callable[[], None]] | None = None) -> int:
    """Let time pass with a sweep each minute; run each message and agent when it is visible. Returns the turn runs."""
    began, runs = world.clock.now(), 0
    due = {began + after: event for after, event in (events or {}).items()}
    due |= {began + after: lambda: None for after in range(0, duration, MINUTE) if began + after not in due}
    while True:
        visible = [world.queue.next_at()] if world.queue.waiting else []
        visible += [due for _, due in world.runs.waiting]
        at = max(world.clock.now(), min([*due, *visible, began + duration]))
        if at >= began + duration:
            world.clock.time = began + duration
            return runs
        world.clock.time = at
        if event := due.pop(at, None):
            event()
            world.dead.all_visible()
            world.sweep()
        world.agents()
        while received := world.turn():
            runs += 1
            if received in world.queue.waiting and received.tries >= MAX_RECEIVES:
                world.queue.waiting.remove(received)
                world.dead.bury(received.message)
            world.agents()


TROUBLES = [NotSent("down"), Ambiguous("no answer"), RateLimited(1)]


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: type(trouble).__name__)
@pytest.mark.parametrize("idempotency", ["key", "readback", "none", "receipts"])
def test_an_hour_of_outage_costs_few_runs(store: Store, idempotency: Idempotency, trouble: PlatformError) -> None:
    world = World(store, idempotency=idempotency)
    world.session()
    handoff = world.ask()
    world.process(handoff)
    place = world.current().owner
    world.platform.down = trouble

    words = {
        10 * MINUTE: lambda: world.say(place, "first", "0001"),
        40 * MINUTE: lambda: world.say(place, "second", "0002"),
    }
    assert pass_time(world, HOUR, words) <= MOST_RUNS
    assert len(world.agent.given) == 1, "words wait until what was said before them is delivered"
    assert len(world.queue.waiting) == 3, "one pending retry, and the words behind it"

    world.platform.down = None
    pass_time(world, 10 * MINUTE)
    mark = REPEAT_MARK if idempotency in ("none", "receipts") and isinstance(trouble, Ambiguous) else ""
    assert world.platform.said(place) == ["reply to 3" + mark, "reply to 6"]
    assert world.latest(handoff).state is State.COMPLETED
    assert not world.queue.waiting
    assert len(world.agent.given) == 2


def test_a_kickoff_that_is_sent_again_stays_one_retry(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.process(handoff)
    world.runs.take()  # by executors that die before they do anything
    world.platform.down = NotSent("down")
    world.wait(LEASE / 1000)

    assert pass_time(world, HOUR) <= MOST_RUNS
    assert len(world.queue.waiting) <= 2

    world.platform.down = None
    pass_time(world, 10 * MINUTE)
    assert world.platform.said(world.current().owner) == ["reply to 3"]
    assert not world.queue.waiting
    assert len(world.agent.given) == 1


def asked_to_move(world: World, place: Place) -> Handoff:
    """A handoff that a command in the thread asked for, with words behind it. Its session has moved."""
    for event_id, text in {"0001": "/handoff chat", "0002": "Still there?"}.items():
        body = f"{event_id}|{place.thread}|{text}".encode()
        receive_message(world.services, "chat", WebhookRequest(body, {"signature": "good"}))
    world.messages()
    (handoff,) = world.store.handoffs.list(USER, session_id=None, state=State.PENDING, limit=5)
    world.process(handoff)
    return handoff


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: type(trouble).__name__)
def test_a_move_that_outlasts_its_command_is_told_in_the_old_thread(world: World, trouble: PlatformError) -> None:
    _, place = world.moved()
    handoff = asked_to_move(world, place)
    world.platform.down = trouble

    pass_time(world, 2 * HOUR)
    assert world.latest(handoff).is_open, "confirmed, and not delivered"
    world.platform.down = None
    pass_time(world, 10 * MINUTE)

    assert world.latest(handoff).state is State.COMPLETED
    _, asked, moved, elsewhere = world.platform.said(place)
    assert ["Moving" in asked, "moved to chat" in moved, "now lives in" in elsewhere] == [True, True, True]
    assert world.store.inbox.new(place, limit=5) == []
    assert not world.queue.waiting


def test_a_move_that_fails_in_an_outage_frees_the_words_behind_it(world: World) -> None:
    _, place = world.moved()
    handoff = asked_to_move(world, place)
    world.agent.next.append(AgentFailed("no such model"))
    world.platform.down = NotSent("down")

    pass_time(world, 6 * HOUR)
    world.platform.down = None
    pass_time(world, 10 * MINUTE)

    assert world.latest(handoff).state is State.FAILED
    _, _, failed, reply = world.platform.said(place)
    assert "still here" in failed
    assert reply == "reply to 5"
    assert not world.queue.waiting


def test_new_words_do_not_wait_behind_a_dead_letter(world: World) -> None:
    _, place = world.moved()
    world.platform.next["send"].append(NotSent("down"))
    world.say(place, "And?", "0001")
    world.turn()
    world.agents()
    world.turn()
    world.dead.bury(world.queue.waiting.pop().message)
    world.sweep()

    world.say(place, "Still there?", "0002")
    world.turns()

    assert world.platform.said(place)[1:] == ["reply to 5", "reply to 7"]


def test_new_words_do_not_wait_behind_the_notice_of_a_dead_letter(world: World) -> None:
    _, place = world.moved()
    world.say(place, "And?", "0001")
    world.dead.bury(world.queue.waiting.pop().message)
    world.sweep()

    world.say(place, "Still there?", "0002")
    assert len({waiting.line for waiting in world.queue.waiting}) == 2


def test_new_words_do_not_wait_behind_a_dead_letter_that_is_delivered_again(world: World) -> None:
    _, place = world.moved()
    world.say(place, "And?", "0001")
    event = world.queue.waiting[0].message
    world.turn()
    world.agents()
    world.dead.bury(event)
    world.queue.waiting.clear()
    world.sweep()

    world.say(place, "Still there?", "0002")
    assert len({waiting.line for waiting in world.queue.waiting}) == 2
