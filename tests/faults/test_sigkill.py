"""SIGKILL of real runtime processes at telling moments: what holds for threads holds for processes."""

import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from local.cloud.runtime.invoker import RuntimeInvoker
from local.service import LocalService
from shared.domain.handoffs import Step
from tests.support.desk import Desk, until
from tests.support.sweeping import sweeping

PATIENCE = 60.0
SLOWLY = "rehearse: slow 3"
TURN = "TurnFunction"
PATIENT = {"LeaseSeconds": "6", "TurnLeaseSeconds": "6"}
"""Longer than a cold start on a busy machine: who is slow is not dead."""


class Phases:
    """Hears what runtime processes do, and kills the next one that takes an event of a function."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._marked: list[str] = []
        self.killed: list[int] = []

    def kill_next(self, function: str) -> None:
        with self._lock:
            self._marked.append(function)

    def __call__(self, function: str, phase: str, pid: int) -> None:
        with self._lock:
            is_marked = phase == "taken" and function in self._marked
            if is_marked:
                self._marked.remove(function)
                self.killed.append(pid)
        if is_marked:
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def phases() -> Phases:
    return Phases()


@pytest.fixture(scope="module")
def real(phases: Phases) -> Iterator[LocalService]:
    with LocalService(mode="runtime", parameters=PATIENT, on_phase=phases) as running:
        yield running


@pytest.fixture
def at_desk(real: LocalService) -> Desk:
    return Desk(real)


def when_opening(desk: Desk, handoff_id: str) -> None:
    """While the platform is slow to open the thread: it will be opened, and nobody alive will hear of it."""
    handoffs = desk.service.store.handoffs
    until(lambda: (found := handoffs.get(handoff_id)) and found.has_done(Step.OPENING_THREAD))
    assert kill_all(desk, "ProcessFunction")


def when_working(desk: Desk, handoff_id: str) -> None:
    """While the agent works on the kickoff."""
    session_id = desk.handoff(handoff_id)["session_id"]
    until(lambda: desk.see(session_id)["turn_running"])
    assert kill_all(desk, TURN)


def kill_all(desk: Desk, function: str) -> tuple[int, ...]:
    assert isinstance(desk.service.invoker, RuntimeInvoker)
    return desk.service.invoker.kill(function)


MOMENTS: dict[str, tuple[str, str | None, Callable[[Desk, str], None] | None]] = {
    "process has taken the record": ("slack", "ProcessFunction", None),
    "process opens a topic": ("telegram", None, when_opening),
    "process opens a thread": ("slack", None, when_opening),
    "turn has taken the message": ("telegram", TURN, None),
    "the agent works": ("slack", None, when_working),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_handoff_survives_sigkill(real: LocalService, at_desk: Desk, phases: Phases, moment: str) -> None:
    with sweeping(real):
        strike_and_check(real, at_desk, phases, moment)


def strike_and_check(real: LocalService, at_desk: Desk, phases: Phases, moment: str) -> None:
    title = f"sigkill {uuid.uuid4().hex[:8]}"
    session_id = at_desk.session(title=title)
    platform, function, strike = MOMENTS[moment]
    deaths = len(phases.killed)
    if function is not None:
        phases.kill_next(function)
    if strike is when_opening:
        real.simulator.arm(platform, "slow", seconds=1, on="open_thread" if platform == "telegram" else "send")

    message = SLOWLY if strike is when_working else None
    handoff_id = at_desk.request(session_id, platform, message=message).json()["id"]
    if strike is not None:
        strike(at_desk, handoff_id)
    until(lambda: at_desk.handoff(handoff_id)["done"], PATIENCE)

    assert (len(phases.killed) > deaths) == (function is not None)
    check_moved_once(at_desk, session_id, title, platform, handoff_id, orphans=strike is when_opening)


@pytest.mark.parametrize("moment", ["process has taken the record", "process opens a thread", "the agent works"])
def test_a_handoff_survives_sigkill_by_the_end_of_the_lease_without_any_sweep(
    real: LocalService, at_desk: Desk, phases: Phases, moment: str
) -> None:
    """The stream shows the record again, or the queue the message: nobody waits for the minute of the schedule."""
    strike_and_check(real, at_desk, phases, moment)


def check_moved_once(
    desk: Desk, session_id: str, title: str, platform: str, handoff_id: str, *, orphans: bool = False
) -> None:
    view, session = desk.handoff(handoff_id), desk.see(session_id)
    assert (view["state"], view["error"], session["epoch"], session["active_handoff"]) == ("completed", None, 1, None)
    threads: list[dict[str, Any]] = desk.threads(title, platform)
    assert len(threads) <= 1 + (orphans and platform == "telegram")
    confirmed = [t for t in threads for m in t["messages"] if "Confirmed" in m["text"]]
    assert [session["owner"].rsplit(":", 1)[-1]] == [thread["id"] for thread in confirmed]
    assert [m.get("internal", False) for m in desk.transcript(session_id)] == [False] * 4 + [True, False]


def test_a_message_whose_webhook_was_killed_is_answered_once(real: LocalService, at_desk: Desk, phases: Phases) -> None:
    title = f"webhook {uuid.uuid4().hex[:8]}"
    session_id = at_desk.session(title=title)
    at_desk.hand_over(session_id)
    (thread,) = at_desk.threads(title)
    deaths = len(phases.killed)

    phases.kill_next("WebhookFunction")
    real.simulator.say("telegram", thread["chat"], "Heard?", thread=thread["id"])
    until(lambda: at_desk.see(session_id)["message_count"] == 8, PATIENCE)

    assert len(phases.killed) == deaths + 1
    assert [m["content"] for m in at_desk.transcript(session_id)].count("Heard?") == 1


def test_a_message_whose_turn_was_killed_at_work_is_answered_once_with_a_note(
    real: LocalService, at_desk: Desk
) -> None:
    title = f"turn {uuid.uuid4().hex[:8]}"
    session_id = at_desk.session(title=title)
    at_desk.hand_over(session_id)
    (thread,) = at_desk.threads(title)

    real.simulator.say("telegram", thread["chat"], SLOWLY, thread=thread["id"])
    until(lambda: at_desk.see(session_id)["turn_running"])
    assert kill_all(at_desk, TURN)
    until(lambda: at_desk.see(session_id)["message_count"] == 8, PATIENCE)

    assert "a note on what happened meanwhile" in at_desk.transcript(session_id)[-1]["content"]
    assert [m["content"] for m in at_desk.transcript(session_id)].count(SLOWLY) == 1
