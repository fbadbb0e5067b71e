"""What the handlers of queue, stream and schedule return to Lambda under faults, for recorded events."""

import copy
import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from functions.process.handler import build as build_process
from functions.sweep.handler import build as build_sweep
from functions.turn.handler import build as build_turn
from shared.domain.handoffs import Handoff, State
from shared.errors import AgentUnavailable, RateLimited
from shared.ports.queue_text import body_of
from shared.ports.store import Store
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.turns.budget import RESERVE
from shared.use_cases.turns.hold_turn import start_turn
from shared.use_cases.turns.run_turn import CONFLICT_PAUSE
from tests.support.use_case_world import TURN_LEASE, USER, World

EVENTS = Path(__file__).parents[1] / "events"


class Context:
    """The part of the Lambda context that handlers use."""

    def __init__(self, seconds: int = 900) -> None:
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return self._seconds * 1000


class RecordedVisibility:
    """The visibility time-outs that were set, in order."""

    def __init__(self) -> None:
        self.seconds: list[int] = []

    def set(self, seconds: int) -> None:
        self.seconds.append(seconds)


def event(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return read


@pytest.fixture
def world(store: Store) -> World:
    return World(store)


@pytest.fixture
def visibility() -> RecordedVisibility:
    return RecordedVisibility()


def run_turn(world: World, visibility: RecordedVisibility, *, seconds: int = 900, tries: int = 1) -> Any:
    """Run the turn handler on the queue's next message."""
    received = world.queue.receive()
    assert received is not None
    queued = event("queue_kickoff_turn")
    queued["Records"][0]["body"] = body_of(received.message)
    queued["Records"][0]["attributes"]["ApproximateReceiveCount"] = str(tries)
    services = replace(world.services, visibility=lambda _: visibility)
    return build_turn(services)(queued, Context(seconds))


def failed(answer: Any) -> list[str]:
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def kickoff(world: World) -> None:
    world.session()
    world.process(world.ask())


def test_a_finished_turn_deletes_its_message(world: World, visibility: RecordedVisibility) -> None:
    kickoff(world)
    assert failed(run_turn(world, visibility)) == []
    assert visibility.seconds == [TURN_LEASE // 1000]


def test_a_rate_limited_turn_sets_the_visibility_timeout(world: World, visibility: RecordedVisibility) -> None:
    kickoff(world)
    world.platform.next["send"].append(RateLimited(1234.5))
    assert failed(run_turn(world, visibility)) == ["059f36b4-87a3-44ab-83d2-661975830a7d"]
    assert visibility.seconds[-1] == 1235


@pytest.mark.parametrize(("tries", "seconds"), [(1, 1), (2, 2), (5, 16), (30, TURN_LEASE // 1000)])
def test_a_turn_on_a_busy_session_backs_off(
    world: World, visibility: RecordedVisibility, tries: int, seconds: int
) -> None:
    session, place = world.moved()
    world.say(place, "And now?", "0001")
    start_turn(world.services, session, counts=False)

    assert len(failed(run_turn(world, visibility, tries=tries))) == 1
    assert visibility.seconds[-1] == seconds


def test_a_turn_whose_session_moved_is_retried_soon(world: World, visibility: RecordedVisibility) -> None:
    kickoff(world)

    def resume() -> str:
        resume_session(world.services, USER, "s-1", epoch=1)
        return "too late"

    world.agent.next.append(resume)
    assert len(failed(run_turn(world, visibility))) == 1
    assert visibility.seconds[-1] == CONFLICT_PAUSE


def test_the_agents_deadline_reserves_time_for_delivery(world: World, visibility: RecordedVisibility) -> None:
    kickoff(world)
    deadlines: list[int] = []

    class RecordingAgent:
        def reply(self, *_: Any, deadline: int, **__: Any) -> str:
            deadlines.append(deadline - world.clock.now())
            raise AgentUnavailable("busy")

    world.services = replace(world.services, agent=RecordingAgent)
    run_turn(world, visibility)
    world.queue.waiting[0].visible_at = world.clock.now()
    run_turn(world, visibility, seconds=40)

    assert deadlines == [900_000 - RESERVE, 20_000]


def test_an_unexpected_error_does_not_quote_the_message(world: World, visibility: RecordedVisibility) -> None:
    _, place = world.moved()
    world.say(place, "a user's secret", "0001")
    world.agent.next.append(RuntimeError("a user's secret"))

    with pytest.raises(Exception, match="RuntimeError") as raised:
        run_turn(world, visibility)

    assert "a user's secret" not in str(raised.value)


def batch_of(world: World, count: int) -> dict[str, Handoff]:
    """New handoffs by the sequence numbers of their records."""
    handoffs = {}
    for number in range(count):
        world.session(f"s-{number}")
        handoffs[f"sequence {number}"] = world.ask(f"s-{number}")
    return handoffs


def process(world: World, handoffs: Mapping[str, Handoff]) -> Any:
    batch = event("stream_pending_handoff")
    (record,) = batch["Records"]
    records = []
    for number, handoff in handoffs.items():
        one = copy.deepcopy(record)
        one["dynamodb"]["Keys"]["handoff_id"]["S"] = handoff.id
        one["dynamodb"]["SequenceNumber"] = number
        records.append(one)
    return build_process(world.services)({"Records": records}, Context())


def test_a_failing_record_does_not_fail_the_others(world: World) -> None:
    handoffs = batch_of(world, 3)
    world.platform.next["open_thread"].extend([lambda: None, RuntimeError("unexpected")])

    answer = process(world, handoffs)

    assert len(failed(answer)) == 1
    assert failed(answer) == [number for number, one in handoffs.items() if not world.latest(one).is_bound]


def test_the_handoffs_of_a_batch_run_concurrently(world: World) -> None:
    handoffs = batch_of(world, 3)
    together = threading.Barrier(3, timeout=20)

    def meet() -> None:
        together.wait()

    world.platform.next["open_thread"].extend([meet] * 3)

    assert failed(process(world, handoffs)) == []
    assert all(world.latest(handoff).is_bound for handoff in handoffs.values())


def test_records_of_one_handoff_are_processed_once(world: World) -> None:
    (handoff,) = batch_of(world, 1).values()
    world.platform.next["open_thread"].append(RuntimeError("unexpected"))

    answer = process(world, {"sequence 0": handoff, "sequence 1": handoff})

    assert failed(answer) == ["sequence 0", "sequence 1"]
    assert world.latest(handoff).fence == 1


def test_the_sweep_returns_how_many_items_it_checked(world: World) -> None:
    world.session()
    handoff = world.ask()
    world.wait(30)

    answer = build_sweep(world.services)(event("scheduled"), Context())

    assert answer == {"looked_at": 1}
    assert world.latest(handoff).state == State.PENDING
