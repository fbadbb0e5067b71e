"""SIGKILL of real processes at chosen moments, on each engine: a handoff or a message still takes effect once.

On AWS a process works for one function; on one machine the process is the whole service, which is started again.
"""

import os
import signal
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import pytest

from local.chats.simulator import Simulator
from local.cloud.runtime.invoker import RuntimeInvoker
from local.service import LocalService
from shared.domain.handoffs import Step
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.engines import ENGINES, FUNCTIONS
from tests.support.kill_cases import COMMAND_SECONDS, WAIT_SECONDS
from tests.support.kill_points import AGENT, PROCESS, TURN, Plan
from tests.support.killable_program import ANY
from tests.support.platform_cases import CASES, PLATFORMS, may_repeat
from tests.support.service import Service
from tests.support.supervised_server import RESTART_SECONDS, SupervisedServer
from tests.support.sweeping import sweeping
from tests.support.waiting import eventually

SLOW = "rehearse: slow 3"
LEASES = {"LeaseSeconds": "6", "TurnLeaseSeconds": "6"}
"""Longer than a cold start on a loaded machine."""
HIDDEN_SECONDS = "10"
"""For how long the message of a killed `turn` stays hidden, instead of a minute."""
REPEATING = next(platform for platform in PLATFORMS if may_repeat(platform))
IDEMPOTENT = next(platform for platform in PLATFORMS if not may_repeat(platform))


class Victims(ABC):
    """The processes of a service. `command_seconds`: a command is answered so soon after one of them was killed."""

    service: Service
    command_seconds: float

    @abstractmethod
    def kill_next(self, function: str) -> None:
        """Kill the next process that takes work of a function."""

    @abstractmethod
    def kill(self, function: str) -> bool:
        """Kill the processes that work for a function now; False if there are none."""

    @property
    @abstractmethod
    def killed(self) -> int:
        """How many processes have died because of `kill_next`."""

    @abstractmethod
    def user(self) -> ApiUser: ...


class FunctionProcesses(Victims):
    """Real runtime processes, one for each event that is handled now."""

    command_seconds = COMMAND_SECONDS

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted: list[str] = []
        self._killed: list[int] = []
        self.service: LocalService

    def kill_next(self, function: str) -> None:
        with self._lock:
            self._wanted.append(function)

    def kill(self, function: str) -> bool:
        assert isinstance(self.service.invoker, RuntimeInvoker)
        return bool(self.service.invoker.kill(function))

    @property
    def killed(self) -> int:
        return len(self._killed)

    def user(self) -> ApiUser:
        return ApiUser(self.service)

    def on_phase(self, function: str, phase: str, pid: int) -> None:
        with self._lock:
            is_wanted = phase == "taken" and function in self._wanted
            if is_wanted:
                self._wanted.remove(function)
                self._killed.append(pid)
        if is_wanted:
            os.kill(pid, signal.SIGKILL)


class OneProcess(Victims):
    """The program on one machine, which is started again at once. A command waits for that."""

    command_seconds = RESTART_SECONDS

    def __init__(self, server: SupervisedServer) -> None:
        self.service: SupervisedServer = server

    def kill_next(self, function: str) -> None:
        self.service.kills.plan(ANY, Plan(function, at=0, run=self.killed))

    def kill(self, function: str) -> bool:  # noqa: ARG002  # one process works for all
        self.service.kill_and_wait()
        return True

    @property
    def killed(self) -> int:
        return self.service.kills.count

    def user(self) -> ApiUser:
        return self.service.user()


@pytest.fixture(scope="module", params=ENGINES)
def victims(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victims]:
    """Without the schedule, whose sweep each minute would hide that a retry is missing."""
    if request.param == FUNCTIONS:
        functions = FunctionProcesses()
        with LocalService(mode="runtime", parameters=LEASES, on_phase=functions.on_phase) as running:
            for schedule in running.cloud.schedules:
                schedule.stop()
            url, attributes = running.stack.outputs["TurnsQueueUrl"], {"VisibilityTimeout": HIDDEN_SECONDS}
            running.engine.client("sqs").set_queue_attributes(QueueUrl=url, Attributes=attributes)
            functions.service = running
            yield functions
        return
    directory, names = tmp_path_factory.mktemp("program"), (REPEATING, IDEMPOTENT)  # an SDK takes long to load
    with Simulator() as chats, SupervisedServer(directory, chats, names=names).running() as server:
        yield OneProcess(server)


@pytest.fixture
def user(victims: Victims) -> ApiUser:
    return victims.user()


def kill_while_opening(victims: Victims, user: ApiUser, handoff_id: str) -> None:
    """While the platform is slow to open the thread: it opens it, and the process never learns of it."""
    handoffs = user.service.store.handoffs
    eventually(lambda: (found := handoffs.get(handoff_id)) and found.has_done(Step.OPENING_THREAD))
    assert victims.kill(PROCESS)


def kill_while_working(victims: Victims, user: ApiUser, handoff_id: str) -> None:
    """While the agent works on the kickoff."""
    wait_until_claimed(user, user.handoff(handoff_id)["session_id"])
    assert victims.kill(AGENT)


def kill_after_move(victims: Victims, user: ApiUser, handoff_id: str) -> None:
    """As soon as the session has moved, whatever of process is left to do."""
    handoffs = user.service.store.handoffs
    eventually(lambda: (found := handoffs.get(handoff_id)) and found.is_bound)
    assert victims.kill(PROCESS)


def wait_until_claimed(user: ApiUser, session_id: str) -> None:
    sessions = user.service.store.sessions
    eventually(lambda: (found := sessions.get(session_id)) and found.turn and found.turn.is_claimed)


MOMENTS: dict[str, tuple[str, str | None, Callable[[Victims, ApiUser, str], None] | None]] = {
    "process has taken the record": (IDEMPOTENT, PROCESS, None),
    "process opens a thread that cannot be found": (REPEATING, None, kill_while_opening),
    "process opens a thread": (IDEMPOTENT, None, kill_while_opening),
    "process has moved the session": (REPEATING, None, kill_after_move),
    "the agent has taken the run": (REPEATING, AGENT, None),
    "the agent works": (IDEMPOTENT, None, kill_while_working),
    "turn has taken the message": (REPEATING, TURN, None),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_handoff_survives_sigkill(victims: Victims, user: ApiUser, moment: str) -> None:
    with sweeping(victims.service):
        kill_and_check(victims, user, moment)


ALONE = (
    "process has taken the record",
    "process opens a thread",
    "process has moved the session",
    "the agent has taken the run",
    "the agent works",
    "turn has taken the message",
)


@pytest.mark.parametrize("moment", ALONE)
@pytest.mark.parametrize("victims", [FUNCTIONS], indirect=True)
def test_a_handoff_survives_sigkill_without_a_sweep(victims: Victims, user: ApiUser, moment: str) -> None:
    """When the lease ends, the stream delivers the record again, the queue the message, or a copy of the run comes."""
    kill_and_check(victims, user, moment)


def kill_and_check(victims: Victims, user: ApiUser, moment: str) -> None:
    title = f"sigkill {uuid.uuid4().hex[:8]}"
    session_id = user.create_session(title=title)
    platform, function, kill = MOMENTS[moment]
    killed = victims.killed
    if function is not None:
        victims.kill_next(function)
    if kill is kill_while_opening:
        user.service.simulator.arm(platform, "slow", seconds=1, on=CASES[platform].opens_threads_with)

    message = SLOW if kill is kill_while_working else None
    handoff_id = user.request_handoff(session_id, platform, message=message).json()["id"]
    if kill is not None:
        kill(victims, user, handoff_id)
    done = user.wait_for_handoff(handoff_id, within=WAIT_SECONDS)

    assert (victims.killed > killed) == (function is not None)
    session, threads = user.session(session_id), user.threads(title, platform)
    assert (done["state"], done["error"], session["epoch"], session["active_handoff"]) == ("completed", None, 1, None)
    assert len(threads) <= 1 + (kill is kill_while_opening and may_repeat(platform))
    confirmed = [t for t in threads for m in t["messages"] if "Confirmed" in m["text"]]
    assert [session["owner"].rsplit(":", 1)[-1]] == [thread["id"] for thread in confirmed]
    assert [m.get("internal", False) for m in user.transcript(session_id)] == [False] * 4 + [True, False]


@pytest.mark.parametrize("function", [TURN, AGENT])
def test_a_message_whose_function_is_killed_at_once_is_answered_once(
    victims: Victims, user: ApiUser, function: str
) -> None:
    thread = ChatThread(user)
    killed = victims.killed

    victims.kill_next(function)
    thread.say("Heard?")
    eventually(lambda: victims.killed > killed)
    check_command(victims, thread)
    eventually(lambda: thread.session()["message_count"] == 8, within=WAIT_SECONDS)
    thread.wait_for("Heard?", within=WAIT_SECONDS)

    assert thread.contents().count("Heard?") == 1
    assert len(thread.replies("Heard?")) == 1


def test_a_message_whose_agent_is_killed_is_answered_once(victims: Victims, user: ApiUser) -> None:
    """The agent gets a note that the turn was interrupted."""
    thread = ChatThread(user)

    thread.say(SLOW)
    wait_until_claimed(user, thread.session_id)
    assert victims.kill(AGENT)
    check_command(victims, thread)
    eventually(lambda: thread.session()["message_count"] == 8, within=WAIT_SECONDS)

    assert "a note about the last turn" in thread.contents()[-1]
    assert thread.contents().count(SLOW) == 1


def check_command(victims: Victims, thread: ChatThread) -> None:
    """A command is answered while the work of the dead process waits for its lease."""
    thread.say("/status")
    thread.wait_for("lives here", within=victims.command_seconds)
