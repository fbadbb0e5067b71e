"""The number of processes of a function: as many as concurrent events up to the limit, and those to keep."""

import json
import os
import resource
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from local.cloud.runtime.invoker import RuntimeInvoker
from local.cloud.stack import FunctionConfig

Start = Callable[..., RuntimeInvoker]
Make = Callable[..., FunctionConfig]


def test_ten_events_run_at_once_in_ten_processes(start: Start, gate: Any) -> None:
    invoker = start()
    with ThreadPoolExecutor(10) as pool:
        running = [pool.submit(invoker.invoke, "Echo", {"do": "meet", "port": gate.port}) for _ in range(10)]
        guests = [gate.arrival() for _ in range(10)]  # all are inside before any is let through
        assert len({pid for _, pid in guests}) == 10
        for guest, _ in guests:
            guest.sendall(b"!")
        assert [one.result(20).payload for one in running] == ["!"] * 10


def test_a_process_with_many_descriptors_still_runs_functions(start: Start) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1100  # select() refuses descriptors above 1023
    if hard != resource.RLIM_INFINITY and hard < 2 * wanted:
        pytest.skip("this user may not open so many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * wanted), hard))
    held: list[int] = []
    try:
        while not held or held[-1] < wanted:
            held.append(os.open(os.devnull, os.O_RDONLY))
        invoker = start(limit=2)
        assert [invoker.invoke("Echo", {"do": "echo"}).error for _ in range(3)] == [None] * 3
        invoker.close()
    finally:
        for one in held:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_at_the_limit_an_event_waits_for_a_free_process(start: Start, gate: Any) -> None:
    invoker = start(limit=1)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(invoker.invoke, "Echo", {"do": "meet", "port": gate.port})
        guest, pid = gate.arrival()
        second = pool.submit(invoker.invoke, "Echo", {"do": "echo"})
        assert not second.done()
        guest.sendall(b"!")
        assert first.result(20).payload == "!"
        assert second.result(20).payload["pid"] == pid


def test_a_slow_function_delays_no_other(start: Start, make_function: Make, gate: Any) -> None:
    invoker = start(make_function("Echo"), make_function("Slow"), limit=1)
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(invoker.invoke, "Slow", {"do": "meet", "port": gate.port})
        guest, _ = gate.arrival()
        assert invoker.invoke("Echo", {"do": "echo"}).error is None
        guest.sendall(b"!")
        assert slow.result(20).payload == "!"


def test_warm_processes_are_replaced_when_killed(start: Start) -> None:
    ready = threading.Semaphore(0)
    invoker = start(on_phase=lambda _, phase, __: ready.release() if phase == "ready" else None)
    invoker.warm({"Echo": 2})
    assert invoker.wait_warm(20)
    before = invoker.pids("Echo")
    assert len(before) == 2
    invoker.kill("Echo", before[0])
    for _ in range(3):
        assert ready.acquire(timeout=20)
    assert invoker.wait_warm(20)
    after = set(invoker.pids("Echo"))
    assert len(after) == 2
    assert before[0] not in after
    assert invoker.invoke("Echo", {"do": "echo"}).payload["pid"] in after


def test_waiting_for_a_broken_function_returns_false(start: Start, make_function: Make) -> None:
    invoker = start(make_function("Echo", "missing_module.handler"))
    invoker.warm({"Echo": 1})
    assert not invoker.wait_warm(20)


def test_output_is_reported_line_by_line(start: Start, heard: Any) -> None:
    invoker = start()
    invoker.invoke("Echo", {"do": "speak"})
    invoker.invoke("Echo", {"do": "fail"})
    invoker.close()
    assert ("Echo", "module loaded") in heard.lines
    assert ("Echo", "to stdout") in heard.lines
    assert ("Echo", "to stderr") in heard.lines
    assert ("Echo", '    raise KeyError("no such thing")') in heard.lines


def test_phases_of_one_event_are_in_order(start: Start, heard: Any) -> None:
    invoker = start()
    pid = invoker.invoke("Echo", {"do": "echo"}).payload["pid"]
    assert [phase for _, phase, one in heard.phases if one == pid] == ["started", "ready", "taken", "answered"]


def test_a_function_is_loaded_once_for_all_its_processes(start: Start, gate: Any, heard: Any) -> None:
    invoker = start()
    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(invoker.invoke, "Echo", {"do": "meet", "port": gate.port}) for _ in range(3)]
        for guest, _ in [gate.arrival() for _ in range(3)]:
            guest.sendall(b"!")
        assert [one.result(20).payload for one in running] == ["!"] * 3
    invoker.close()
    assert heard.lines == [("Echo", "module loaded")]


def test_processes_of_one_function_draw_different_random_numbers(start: Start) -> None:
    invoker = start()
    first = invoker.invoke("Echo", {"do": "draw"}).payload
    invoker.kill("Echo")
    second = invoker.invoke("Echo", {"do": "draw"}).payload
    assert first["pid"] != second["pid"]
    assert set(first["numbers"]).isdisjoint(second["numbers"])


def test_logs_have_the_format_of_the_stack(start: Start, make_function: Make, heard: Any) -> None:
    invoker = start(replace(make_function("Echo"), log_format="JSON"))
    invoker.invoke("Echo", {"do": "fail"})
    invoker.close()
    told = [json.loads(line) for _, line in heard.lines if line != "module loaded"]
    assert [(one["level"], one["errorType"]) for one in told] == [("ERROR", "KeyError")]


def test_idle_processes_end_except_those_to_keep(start: Start, gate: Any) -> None:
    gone, told = threading.Semaphore(0), Counter[str]()

    def hear(_: str, phase: str, __: int) -> None:
        told[phase] += 1
        if phase == "exited":
            gone.release()

    invoker = start(idle_seconds=0.1, on_phase=hear)
    invoker.warm({"Echo": 2})
    with ThreadPoolExecutor(6) as pool:
        running = [pool.submit(invoker.invoke, "Echo", {"do": "meet", "port": gate.port}) for _ in range(6)]
        for guest, _ in [gate.arrival() for _ in range(6)]:
            guest.sendall(b"!")
        assert [one.result(20).payload for one in running] == ["!"] * 6
    for _ in range(4):
        assert gone.acquire(timeout=20)
    assert len(invoker.pids("Echo")) == 2
    assert invoker.invoke("Echo", {"do": "echo"}).payload["count"] == 2  # by one that was there before
    invoker.close()
    assert (told["started"], told["exited"]) == (6, 6)  # none of the kept ones was let go and replaced


def test_events_are_answered_while_idle_processes_end(start: Start) -> None:
    invoker = start(idle_seconds=0.01)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda number: invoker.invoke("Echo", {"do": "echo", "number": number}), range(300)))
    assert [one.payload["event"]["number"] for one in results] == list(range(300))
