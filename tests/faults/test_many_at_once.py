"""Ten handoffs at once with slow agents, in real runtime processes: none waits for another."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from local.cloud.runtime.invoker import RuntimeInvoker
from local.service import LocalService
from tests.support.desk import Desk, until

COUNT = 10
TURN = "TurnFunction"


class Crowd:
    """How many processes have worked on turns at the same time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working: set[int] = set()
        self.most = 0

    def __call__(self, function: str, phase: str, pid: int) -> None:
        if function == TURN:
            with self._lock:
                (self._working.add if phase == "taken" else self._working.discard)(pid)
                self.most = max(self.most, len(self._working))


@pytest.mark.timeout(300)  # on a machine that may have more to do
def test_ten_handoffs_at_once_have_their_agents_at_work_at_once() -> None:
    """Were they to wait for one another, ten agents of 3 s would never be seen at work together."""
    crowd = Crowd()
    with LocalService(mode="runtime", parameters={"RehearsalSeconds": "3"}, on_phase=crowd) as service:
        assert isinstance(service.invoker, RuntimeInvoker)
        assert service.invoker.wait_warm(60)

        states = ten_at_once(Desk(service))

    assert states == {"completed"}
    assert crowd.most == COUNT


def ten_at_once(desk: Desk) -> set[str]:
    """Hand ten sessions over; returns the states that they end in."""
    sessions = [desk.session() for _ in range(COUNT)]
    with ThreadPoolExecutor(COUNT) as pool:
        handoffs = [answer.json()["id"] for answer in pool.map(desk.request, sessions)]
    for handoff_id in handoffs:
        until(partial(_is_done, desk, handoff_id), 60)
    return {desk.handoff(handoff_id)["state"] for handoff_id in handoffs}


def _is_done(desk: Desk, handoff_id: str) -> bool:
    return bool(desk.handoff(handoff_id)["done"])
