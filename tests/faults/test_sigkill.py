"""SIGKILL of real runtime processes at chosen moments: a handoff or a message still takes effect once."""

import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator

import pytest

from local.cloud.runtime.invoker import RuntimeInvoker
from local.service import LocalService
from shared.domain.handoffs import Step
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.kill_cases import WAIT_SECONDS
from tests.support.platform_cases import CASES, PLATFORMS, may_repeat
from tests.support.sweeping import sweeping
from tests.support.waiting import eventually

SLOW = "rehearse: slow 3"
TURN, PROCESS = "TurnFunction", "ProcessFunction"
LEASES = {"LeaseSeconds": "6", "TurnLeaseSeconds": "6"}
"""Longer than a cold start on a loaded machine."""
REPEATING = next(platform for platform in PLATFORMS if may_repeat(platform))
IDEMPOTENT = next(platform for platform in PLATFORMS if not may_repeat(platform))


class Killer:
    """Kills the next process that takes an event of a function."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted: list[str] = []
        self.killed: list[int] = []

    def kill_next(self, function: str) -> None:
        with self._lock:
            self._wanted.append(function)

    def __call__(self, function: str, phase: str, pid: int) -> None:
        with self._lock:
            is_wanted = phase == "taken" and function in self._wanted
            if is_wanted:
                self._wanted.remove(function)
                self.killed.append(pid)
        if is_wanted:
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def killer() -> Killer:
    return Killer()


@pytest.fixture(scope="module")
def service(killer: Killer) -> Iterator[LocalService]:
    """Without the schedule, whose sweep each minute would hide that a retry is missing."""
    with LocalService(mode="runtime", parameters=LEASES, on_phase=killer) as running:
        for schedule in running.cloud._schedules:
            schedule.stop()
        yield running


def kill_while_opening(user: ApiUser, handoff_id: str) -> None:
    """While the platform is slow to open the thread: it opens it, and the function never learns of it."""
    handoffs = user.service.store.handoffs
    eventually(lambda: (found := handoffs.get(handoff_id)) and found.has_done(Step.OPENING_THREAD))
    assert kill_all(user, PROCESS)


def kill_while_working(user: ApiUser, handoff_id: str) -> None:
    """While the agent works on the kickoff."""
    session_id = user.handoff(handoff_id)["session_id"]
    eventually(lambda: user.session(session_id)["turn_running"])
    assert kill_all(user, TURN)


def kill_all(user: ApiUser, function: str) -> tuple[int, ...]:
    assert isinstance(user.service.invoker, RuntimeInvoker)
    return user.service.invoker.kill(function)


MOMENTS: dict[str, tuple[str, str | None, Callable[[ApiUser, str], None] | None]] = {
    "process has taken the record": (IDEMPOTENT, PROCESS, None),
    "process opens a thread that cannot be found": (REPEATING, None, kill_while_opening),
    "process opens a thread": (IDEMPOTENT, None, kill_while_opening),
    "turn has taken the message": (REPEATING, TURN, None),
    "the agent works": (IDEMPOTENT, None, kill_while_working),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_handoff_survives_sigkill(service: LocalService, user: ApiUser, killer: Killer, moment: str) -> None:
    with sweeping(service):
        kill_and_check(user, killer, moment)


@pytest.mark.parametrize("moment", ["process has taken the record", "process opens a thread", "the agent works"])
def test_a_handoff_survives_sigkill_without_a_sweep(user: ApiUser, killer: Killer, moment: str) -> None:
    """When the lease ends, the stream delivers the record again, or the queue the message."""
    kill_and_check(user, killer, moment)


def kill_and_check(user: ApiUser, killer: Killer, moment: str) -> None:
    title = f"sigkill {uuid.uuid4().hex[:8]}"
    session_id = user.create_session(title=title)
    platform, function, kill = MOMENTS[moment]
    killed = len(killer.killed)
    if function is not None:
        killer.kill_next(function)
    if kill is kill_while_opening:
        user.service.simulator.arm(platform, "slow", seconds=1, on=CASES[platform].opens_threads_with)

    message = SLOW if kill is kill_while_working else None
    handoff_id = user.request_handoff(session_id, platform, message=message).json()["id"]
    if kill is not None:
        kill(user, handoff_id)
    done = user.wait_for_handoff(handoff_id, within=WAIT_SECONDS)

    assert (len(killer.killed) > killed) == (function is not None)
    session, threads = user.session(session_id), user.threads(title, platform)
    assert (done["state"], done["error"], session["epoch"], session["active_handoff"]) == ("completed", None, 1, None)
    assert len(threads) <= 1 + (kill is kill_while_opening and may_repeat(platform))
    confirmed = [t for t in threads for m in t["messages"] if "Confirmed" in m["text"]]
    assert [session["owner"].rsplit(":", 1)[-1]] == [thread["id"] for thread in confirmed]
    assert [m.get("internal", False) for m in user.transcript(session_id)] == [False] * 4 + [True, False]


def test_a_message_whose_webhook_is_killed_is_answered_once(user: ApiUser, killer: Killer) -> None:
    thread = ChatThread(user)
    killed = len(killer.killed)

    killer.kill_next("WebhookFunction")
    thread.say("Heard?")
    eventually(lambda: thread.session()["message_count"] == 8, within=WAIT_SECONDS)

    assert len(killer.killed) == killed + 1
    assert thread.contents().count("Heard?") == 1


def test_a_message_whose_turn_is_killed_is_answered_once(user: ApiUser) -> None:
    """The agent gets a note that the turn was interrupted."""
    thread = ChatThread(user)

    thread.say(SLOW)
    eventually(lambda: thread.session()["turn_running"])
    assert kill_all(user, TURN)
    eventually(lambda: thread.session()["message_count"] == 8, within=WAIT_SECONDS)

    assert "a note about the last turn" in thread.contents()[-1]
    assert thread.contents().count(SLOW) == 1
