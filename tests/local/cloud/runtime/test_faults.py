"""Processes that hang, crash or are killed: every event gets a result, and no process is left behind."""

import itertools
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from local.cloud.runtime.invoker import RuntimeInvoker
from local.cloud.stack import FunctionConfig
from local.paths import ROOT

Start = Callable[..., RuntimeInvoker]
Make = Callable[..., FunctionConfig]


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for_end(pid: int) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)


def test_a_time_out_kills_the_process(start: Start, make_function: Make) -> None:
    invoker = start(make_function("Echo", timeout=0.25))
    pid = invoker.invoke("Echo", {"do": "echo"}).payload["pid"]
    result = invoker.invoke("Echo", {"do": "hang"})
    assert result.timed_out
    assert result.error is not None
    assert result.error["errorMessage"].endswith("Task timed out after 0.25 seconds")
    assert not alive(pid)
    assert invoker.invoke("Echo", {"do": "echo"}).payload["count"] == 1


def test_a_crash_during_an_event_is_an_error(start: Start) -> None:
    invoker = start()
    result = invoker.invoke("Echo", {"do": "leave"})
    assert result.error is not None
    assert result.error["errorType"] == "Runtime.ExitError"
    assert "exit status 7" in result.error["errorMessage"]
    assert invoker.invoke("Echo", {"do": "echo"}).error is None


def test_sigkill_during_an_event_ends_it_at_once(start: Start, gate: Any) -> None:
    invoker = start()
    with ThreadPoolExecutor() as pool:
        running = pool.submit(invoker.invoke, "Echo", {"do": "meet", "port": gate.port})
        _, pid = gate.arrival()
        assert invoker.kill("Echo", pid) == (pid,)
        result = running.result(10)
    assert result.error is not None
    assert "signal: 9" in result.error["errorMessage"]
    assert not alive(pid)


def test_a_process_killed_while_idle_loses_no_event(start: Start) -> None:
    invoker = start()
    for _ in range(5):
        pid = invoker.invoke("Echo", {"do": "echo"}).payload["pid"]
        os.kill(pid, signal.SIGKILL)
        assert wait_for_end(pid)
        result = invoker.invoke("Echo", {"do": "echo"})
        assert result.error is None
        assert result.payload["pid"] != pid


@pytest.mark.parametrize(
    ("phase", "survives"), [("started", True), ("ready", True), ("taken", False), ("answered", True), ("exited", True)]
)
def test_a_kill_at_any_phase_leaves_a_result(start: Start, phase: str, survives: bool) -> None:
    once = threading.Event()

    def kill(_: str, seen: str, pid: int) -> None:
        if seen == phase and not once.is_set():
            once.set()
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
                assert wait_for_end(pid)

    invoker = start(on_phase=kill)
    with ThreadPoolExecutor() as pool:
        if phase == "exited":
            invoker.invoke("Echo", {"do": "leave"})
        result = pool.submit(invoker.invoke, "Echo", {"do": "echo"}).result(20)
        after = pool.submit(invoker.invoke, "Echo", {"do": "echo"}).result(20)
    assert once.is_set()
    assert (result.error is None) == survives
    assert after.error is None


def test_repeated_kills_leave_every_event_a_result(start: Start) -> None:
    turn = itertools.count()

    def shoot(function: str, _: str, __: int) -> None:
        if (now := next(turn)) % 3 == 2 and now < 60:
            invoker.kill(function)

    invoker = start(limit=3, on_phase=shoot)
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda _: invoker.invoke("Echo", {"do": "echo"}), range(12), timeout=30))
    assert all(one.error is None or one.error["errorType"] == "Runtime.ExitError" for one in results)
    while next(turn) < 60:
        pass
    assert invoker.invoke("Echo", {"do": "echo"}).error is None


def test_close_ends_running_and_waiting_events_and_every_process(start: Start, gate: Any) -> None:
    invoker = start(limit=1)
    with ThreadPoolExecutor() as pool:
        running = pool.submit(invoker.invoke, "Echo", {"do": "meet", "port": gate.port})
        _, pid = gate.arrival()
        waiting = pool.submit(invoker.invoke, "Echo", {"do": "echo"})
        invoker.close()
        assert running.result(10).error is not None
        assert waiting.result(10).error is not None
    assert not alive(pid)
    assert invoker.pids() == ()
    assert invoker.invoke("Echo", {"do": "echo"}).error is not None


def test_listeners_that_fail_cost_no_event(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("a listener's own trouble")

    invoker = start(on_phase=refuse)
    assert invoker.invoke("Echo", {"do": "leave"}).error is not None
    assert invoker.invoke("Echo", {"do": "echo"}).error is None
    assert "a listener's own trouble" in caplog.text


def test_guard_that_was_killed_is_replaced(start: Start) -> None:
    invoker = start()
    first = invoker.invoke("Echo", {"do": "echo"}).payload["pid"]
    guard = os.getpgid(first)
    assert guard not in (first, os.getpgid(0))
    os.kill(guard, signal.SIGKILL)
    assert wait_for_end(guard)
    assert invoker.invoke("Echo", {"do": "leave"}).error is not None
    second = invoker.invoke("Echo", {"do": "echo"}).payload["pid"]
    assert os.getpgid(second) not in (guard, os.getpgid(0))


PARENT = """
import sys, threading
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.local.cloud.conftest import function
from tests.local.cloud.runtime.conftest import credentials, stack_of
from local.cloud.runtime.invoker import RuntimeInvoker
invoker = RuntimeInvoker(
    stack_of(function("Echo"), function("Idle")), endpoint="http://127.0.0.1:1",
    root=Path({app!r}), credentials=credentials,
)
invoker.warm({{"Echo": 1, "Idle": 2}})
invoker.wait_warm()
print(*invoker.pids(), flush=True)
invoker.invoke("Echo", {{"do": "meet", "port": {port}}})
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_death_of_the_parent_leaves_no_orphans(how: int, app_root: Path, gate: Any) -> None:
    code = PARENT.format(root=str(ROOT), app=str(app_root), port=gate.port)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        _, busy = gate.arrival()
        assert busy in pids
        assert len(pids) == 3
        parent.send_signal(how)
        parent.wait(10)
    assert all(wait_for_end(pid) for pid in pids)


def test_the_death_of_a_fork_server_ends_its_processes(start: Start, gate: Any) -> None:
    invoker = start()
    with ThreadPoolExecutor() as pool:
        running = pool.submit(invoker.invoke, "Echo", {"do": "meet", "port": gate.port})
        _, pid = gate.arrival()
        loader = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(loader, signal.SIGKILL)
        result = running.result(10)
    assert result.error is not None
    assert "signal: 9" in result.error["errorMessage"]
    assert wait_for_end(pid)
    assert invoker.invoke("Echo", {"do": "echo"}).error is None


def test_programs_that_a_function_started_may_exit(start: Start, make_function: Make, app_root: Path) -> None:
    (app_root / "helped.py").write_text(
        "import os, subprocess\n"
        "helper = subprocess.Popen(['sleep', '600'])\n"
        "def handler(event, context):\n"
        "    return os._exit(7) if event['leave'] else helper.pid\n"
    )
    invoker = start(make_function("Helped", "helped.handler"))
    helper = invoker.invoke("Helped", {"leave": False}).payload
    os.kill(helper, signal.SIGKILL)
    assert wait_for_end(helper)
    result = invoker.invoke("Helped", {"leave": True})
    assert result.error is not None
    assert "exit status 7" in result.error["errorMessage"]
    assert invoker.invoke("Helped", {"leave": False}).payload == helper
