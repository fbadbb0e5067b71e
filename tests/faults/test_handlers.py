"""What the handlers of queue, stream and schedule return to Lambda under faults, for recorded events."""

import copy
import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from functions.agent.handler import build as build_agent
from functions.process.handler import build as build_process
from functions.sweep.handler import build as build_sweep
from functions.turn.handler import build as build_turn
from shared.domain.handoffs import Handoff, State
from shared.errors import AgentUnavailable, Conflict, RateLimited
from shared.ports.agents import TurnInput
from shared.ports.queue_text import body_of, run_body_of
from shared.store.bundle import Store
from shared.store.turns import Turns
from shared.use_cases.turns.execute_turn import RESERVE
from shared.use_cases.turns.run_turn import CONFLICT_PAUSE
from tests.support.use_case_world import World

EVENTS = Path(__file__).parents[1] / "events"
MESSAGE_ID = "059f36b4-87a3-44ab-83d2-661975830a7d"


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


def queue_event(body: str) -> dict[str, Any]:
    queued = event("queue_kickoff_turn")
    queued["Records"][0]["body"] = body
    return queued


def run_turn(world: World, visibility: RecordedVisibility) -> Any:
    """Run the turn handler on the queue's next message."""
    received = world.queue.receive()
    assert received is not None
    services = replace(world.services, visibility=lambda _: visibility)
    return build_turn(services)(queue_event(body_of(received.message)), Context(60))


def run_agent(world: World, *, seconds: int = 900) -> None:
    """Run the agent handler on the next run."""
    run = world.runs.receive()
    assert run is not None
    build_agent(world.services)(queue_event(run_body_of(run)), Context(seconds))


def failed(answer: Any) -> list[str]:
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def kickoff(world: World) -> Handoff:
    world.session()
    world.process(handoff := world.ask())
    return handoff


def test_a_finished_turn_deletes_its_message(world: World, visibility: RecordedVisibility) -> None:
    handoff = kickoff(world)
    run_agent(world)
    assert failed(run_turn(world, visibility)) == []
    assert visibility.seconds == []
    assert world.latest(handoff).state == State.COMPLETED


def test_a_rate_limited_turn_sets_the_visibility_timeout(world: World, visibility: RecordedVisibility) -> None:
    kickoff(world)
    run_agent(world)
    world.platform.next["send"].append(RateLimited(1234.5))
    assert failed(run_turn(world, visibility)) == [MESSAGE_ID]
    assert visibility.seconds == [1235]


def test_a_message_whose_session_keeps_changing_is_retried_soon(world: World, visibility: RecordedVisibility) -> None:
    _, place = world.moved()
    world.say(place, "And now?", "0001")

    class Changing(Turns):
        def offer(self, *_: Any, **__: Any) -> Any:
            raise Conflict("changed since it was read")

    world.services = replace(world.services, store=replace(world.store, turns=Changing(world.store.turns._tables)))
    assert failed(run_turn(world, visibility)) == [MESSAGE_ID]
    assert visibility.seconds == [CONFLICT_PAUSE]


def test_the_agents_deadline_reserves_time_for_the_commit(world: World) -> None:
    kickoff(world)
    deadlines: list[int] = []

    class RecordingAgent:
        def reply(self, turn: TurnInput) -> str:
            deadlines.append(turn.deadline - world.clock.now())
            raise AgentUnavailable("busy")

    world.services = replace(world.services, agent=RecordingAgent)
    run_agent(world)
    world.wait(60)
    run_agent(world, seconds=40)

    assert deadlines == [900_000 - RESERVE, 20_000]
    assert RESERVE == 60_000


def test_an_unexpected_error_of_the_agent_does_not_quote_the_message(
    world: World, visibility: RecordedVisibility
) -> None:
    _, place = world.moved()
    world.say(place, "a user's secret", "0001")
    run_turn(world, visibility)
    world.agent.next.append(RuntimeError("a user's secret"))
    world.runs.waiting = [one for one in world.runs.waiting if one[1] <= world.clock.now()]

    with pytest.raises(Exception, match="RuntimeError") as raised:
        run_agent(world)

    assert "a user's secret" not in str(raised.value)
    turn = world.current().turn
    assert turn is not None
    assert not turn.is_claimed, "it is offered again"
    assert world.agents() == 1


def test_an_unexpected_error_of_a_delivery_does_not_quote_the_message(
    world: World, visibility: RecordedVisibility
) -> None:
    kickoff(world)
    run_agent(world)
    world.platform.next["send"].append(RuntimeError("a user's secret"))

    with pytest.raises(Exception, match="RuntimeError") as raised:
        run_turn(world, visibility)

    assert "a user's secret" not in str(raised.value)


@pytest.mark.parametrize("body", ['{"v":99,"session_id":"s","turn_id":"t"}', '{"v":1}', "no JSON"])
def test_an_unreadable_run_is_dropped(world: World, caplog: pytest.LogCaptureFixture, body: str) -> None:
    """The sweep sends another one, which a newer worker may take."""
    assert build_agent(world.services)(queue_event(body), Context()) is None
    assert MESSAGE_ID in caplog.text
    assert body not in caplog.text


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
