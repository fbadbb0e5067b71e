"""What is measured on the way of a handoff and of a turn."""

from dataclasses import replace
from typing import Any

import pytest

from shared.agents.measured import MeasuredAgent
from shared.domain.handoffs import Reason
from shared.errors import AgentCancelled, AgentFailed, NotSent, RateLimited, Rejected
from shared.ports.agents import Cancellation, TurnInput
from shared.ports.metrics import Metric
from shared.store.bundle import store_on
from shared.use_cases.files.fetch_files import TRIES
from shared.use_cases.files.wait_for_files import LONGEST
from shared.use_cases.sessions.resume_session import resume_session
from tests.shared.use_cases.files.test_files_from_chats import post
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World


class Recorded:
    """Keeps what is measured."""

    def __init__(self) -> None:
        self.values: list[tuple[Metric, float]] = []
        self.about: list[dict[str, Any]] = []

    def put(self, *values: tuple[Metric, float], **about: str | int) -> None:
        self.values += values
        self.about.append(about)

    def total(self, metric: Metric) -> float:
        return sum(value for name, value in self.values if name is metric)


@pytest.fixture
def metrics() -> Recorded:
    return Recorded()


@pytest.fixture
def world(metrics: Recorded) -> World:
    world = World(store_on(MemoryTables(), metrics=metrics))
    agent = MeasuredAgent(world.agent, world.clock, metrics)
    world.services = replace(world.services, agent=lambda: agent, metrics=metrics)
    return world


def test_a_handoff_is_measured_with_its_step_times(world: World, metrics: Recorded) -> None:
    world.session()
    handoff = world.ask()
    world.wait(2)
    world.process(handoff)
    world.wait(3)
    world.turns()

    assert metrics.total(Metric.HANDOFFS_COMPLETED) == 1
    assert metrics.total(Metric.UNTIL_THREAD) == 2
    assert metrics.total(Metric.UNTIL_CONFIRMED) == metrics.total(Metric.UNTIL_COMPLETED) == 5
    assert metrics.total(Metric.TURNS) == 1
    assert metrics.total(Metric.DELIVERIES) >= 1


def test_an_agent_that_fails_is_a_failed_handoff(world: World, metrics: Recorded) -> None:
    world.agent.next.append(AgentFailed("no key"))
    world.session()
    world.process(world.ask())
    world.turns()
    assert metrics.total(Metric.HANDOFFS_FAILED) == metrics.total(Metric.TURNS_FAILED) == 1
    assert {"platform": "chat", "reason": "agent_failed"} in metrics.about


def test_a_cancelled_reply_is_no_failure(world: World, metrics: Recorded) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(AgentCancelled):
        world.services.agent().reply(TurnInput([], 0, cancellation))
    assert metrics.total(Metric.TURNS_CANCELLED) == 1
    assert metrics.total(Metric.TURNS_FAILED) == 0


def test_cancelled_and_resumed_handoffs_are_counted(world: World, metrics: Recorded) -> None:
    world.session("s-1")
    world.session("s-2")
    world.store.handoffs.cancel(world.ask("s-1"), Reason("cancelled", "x"), now=world.clock.now())
    world.ask("s-2")
    resume_session(world.services, USER, "s-2", epoch=0)
    assert metrics.total(Metric.HANDOFFS_CANCELLED) == 2


def test_a_lost_race_is_not_counted(world: World, metrics: Recorded) -> None:
    world.session()
    handoff = world.ask()
    reason = Reason("cancelled", "x")
    world.store.handoffs.cancel(handoff, reason, now=world.clock.now())
    assert world.store.handoffs.cancel(handoff, reason, now=world.clock.now()) is None
    assert metrics.total(Metric.HANDOFFS_CANCELLED) == 1


@pytest.mark.parametrize(
    ("trouble", "metric"),
    [(RateLimited(1), Metric.DELIVERIES_DELAYED), (Rejected("no"), Metric.DELIVERIES_REJECTED)],
)
def test_trouble_with_a_delivery_is_counted(
    world: World, metrics: Recorded, trouble: Exception, metric: Metric
) -> None:
    _, place = world.moved()
    world.platform.next["send"].append(trouble)
    world.say(place, "words", "e-1")
    world.turns()
    assert metrics.total(metric) == 1


@pytest.mark.parametrize("trouble", [[NotSent("down")] * TRIES, [Rejected("no")]], ids=["down", "refused"])
def test_a_file_that_the_platform_does_not_send_is_counted(
    world: World, metrics: Recorded, trouble: list[Exception]
) -> None:
    _, place = world.moved()
    world.platform.next["fetch_file"].extend(trouble)
    post(world, place, "e-1", "words", "file:picture:a.png")
    world.turns()
    assert metrics.total(Metric.FILES_UNREAD) == 1


def test_a_file_that_nobody_reads_in_time_is_counted(world: World, metrics: Recorded) -> None:
    _, place = world.moved()
    post(world, place, "e-1", "words", "file:picture:a.png")
    world.messages()
    world.runs.waiting.clear()
    world.wait(LONGEST / 1000)
    world.messages()
    world.turns()
    assert metrics.total(Metric.FILES_UNREAD) == 1


def test_no_text_and_no_id_is_measured(world: World, metrics: Recorded) -> None:
    _, place = world.moved()
    world.say(place, "secret words", "e-1")
    world.turns()
    assert {key for about in metrics.about for key in about} <= {"platform", "reason", "status"}
    assert {value for about in metrics.about for value in about.values()} == {"chat"}
