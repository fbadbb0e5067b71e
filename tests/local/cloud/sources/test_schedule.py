"""A schedule that invokes a function."""

import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from local.cloud.sources.schedule import ScheduleSource
from local.cloud.stack import Schedule

ACCOUNT = "123456789012"
PATIENCE = 20.0


def test_event_has_the_shape_of_the_real_sample(invoker: Any, sample: Callable[[str], Any]) -> None:
    real = sample("scheduled")
    source = ScheduleSource(Schedule("handoff-sweep", 60, {}), invoker, account=ACCOUNT, now=lambda: 1794822960.9)
    assert source.fire_now().error is None
    assert invoker.next() | {"id": ""} == real | {"id": ""}
    assert invoker.functions == ["handoff-sweep"]


def test_payload_of_the_schedule_is_the_whole_event(invoker: Any) -> None:
    ScheduleSource(Schedule("Sweep", 60, {"task": "sweep"}), invoker, account=ACCOUNT).fire_now()
    assert invoker.next() == {"task": "sweep"}


class Clock:
    """A pause that ends when the test says so."""

    def __init__(self) -> None:
        self.pauses: queue.Queue[float] = queue.Queue()
        self._ticks = threading.Semaphore(0)

    def pause(self, seconds: float) -> bool:
        self.pauses.put(seconds)
        return self._ticks.acquire(timeout=PATIENCE)

    def tick(self) -> None:
        self._ticks.release()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def thread_of(function: str) -> threading.Thread:
    (thread,) = [one for one in threading.enumerate() if one.name == f"schedule {function}"]
    return thread


def test_it_fires_at_its_rate_while_a_call_runs(invoker: Any, doors: Any, clock: Clock) -> None:
    calls = iter(["first", "second"])
    invoker.answer = lambda _: doors.enter(next(calls))
    source = ScheduleSource(Schedule("Rate", 90, {}), invoker, account=ACCOUNT, pause=clock.pause)
    source.start()
    assert clock.pauses.get(timeout=PATIENCE) == 90
    assert invoker.idle  # not before the first interval is over
    for names in (["first"], ["first", "second"]):
        clock.tick()
        assert clock.pauses.get(timeout=PATIENCE) == 90
        doors.wait_inside(*names)
    source.stop()
    clock.tick()
    doors.release("first", "second")


def test_a_stopped_source_fires_no_more(invoker: Any, clock: Clock) -> None:
    source = ScheduleSource(Schedule("Stopped", 90, {}), invoker, account=ACCOUNT, pause=clock.pause)
    source.start()
    clock.tick()
    invoker.next()
    thread = thread_of("Stopped")
    source.stop()
    clock.tick()
    thread.join(PATIENCE)
    assert not thread.is_alive()  # it would wait for the next tick otherwise
    assert clock.pauses.qsize() == 2
    assert invoker.functions == ["Stopped"]


def test_stop_ends_a_long_pause(invoker: Any) -> None:
    source = ScheduleSource(Schedule("Long", 3600, {}), invoker, account=ACCOUNT)
    source.start()
    thread = thread_of("Long")
    source.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert invoker.idle


@pytest.mark.parametrize(("retries", "pauses"), [(0, []), (2, [60, 120])])
def test_a_failed_call_is_repeated_as_often_as_it_may(
    invoker: Any, failed: Any, retries: int, pauses: list[float]
) -> None:
    invoker.answer = lambda _: failed
    interval, waited, over = threading.Semaphore(1), [], threading.Event()

    def pause(seconds: float) -> bool:
        if seconds == 90:
            return interval.acquire(timeout=0 if over.is_set() else PATIENCE)
        waited.append(seconds)
        return True

    source = ScheduleSource(Schedule("Failing", 90, {}, retries), invoker, account=ACCOUNT, pause=pause)
    source.start()
    events = [invoker.next() for _ in range(retries + 1)]
    over.set()
    source.stop()
    interval.release()
    assert waited == pauses
    assert all(event == events[0] for event in events)
    assert invoker.idle


def test_a_failure_is_a_result(invoker: Any, failed: Any) -> None:
    invoker.answer = lambda _: failed
    assert ScheduleSource(Schedule("Sweep", 60, {}), invoker, account=ACCOUNT).fire_now() == failed
