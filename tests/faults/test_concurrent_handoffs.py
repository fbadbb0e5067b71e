"""Ten handoffs at once with slow agents, in real runtime processes: none waits for another."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from local.cloud.runtime.invoker import RuntimeInvoker
from local.service import LocalService
from tests.support.api_user import ApiUser

COUNT = 10


class BusyProcesses:
    """The largest number of processes that ran agents at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy: set[int] = set()
        self.most = 0

    def __call__(self, function: str, phase: str, pid: int) -> None:
        if function == "AgentFunction":
            with self._lock:
                (self._busy.add if phase == "taken" else self._busy.discard)(pid)
                self.most = max(self.most, len(self._busy))


@pytest.mark.timeout(300)  # on a loaded machine
def test_ten_handoffs_run_their_agents_at_the_same_time() -> None:
    """The agents take longer than ten requests on a loaded machine: all are busy at once unless a handoff waits for another."""
    processes = BusyProcesses()
    with LocalService(mode="runtime", parameters={"RehearsalSeconds": "10"}, on_phase=processes) as service:
        assert isinstance(service.invoker, RuntimeInvoker)
        assert service.invoker.wait_warm(60)
        user = ApiUser(service)
        sessions = [user.create_session() for _ in range(COUNT)]
        with ThreadPoolExecutor(COUNT) as pool:
            answers = list(pool.map(user.request_handoff, sessions))
        states = [user.wait_for_handoff(answer.json()["id"], within=60)["state"] for answer in answers]

    assert states == ["completed"] * COUNT
    assert processes.most == COUNT
