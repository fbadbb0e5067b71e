"""A schedule waking a function."""

from collections.abc import Callable
from typing import Any

from local.cloud.sources import ScheduleSource
from local.cloud.stack import Schedule

ACCOUNT = "123456789012"


def test_event_has_the_shape_of_the_real_sample(invoker: Any, sample: Callable[[str], Any]) -> None:
    real = sample("scheduled")
    source = ScheduleSource(Schedule("handoff-sweep", 60, {}), invoker, account=ACCOUNT, now=lambda: 1794822960.9)
    assert source.fire_now().error is None
    assert invoker.next() | {"id": ""} == real | {"id": ""}
    assert invoker.functions == ["handoff-sweep"]


def test_payload_of_the_schedule_is_the_whole_event(invoker: Any) -> None:
    ScheduleSource(Schedule("Sweep", 60, {"task": "sweep"}), invoker, account=ACCOUNT).fire_now()
    assert invoker.next() == {"task": "sweep"}


def test_it_fires_at_its_rate_even_while_a_call_is_running_and_no_more_after_stop(invoker: Any, doors: Any) -> None:
    calls = iter(["first", "second"])
    invoker.answer = lambda _: doors.enter(next(calls, "later"))
    doors.release("later")
    source = ScheduleSource(Schedule("Sweep", 0.01, {}), invoker, account=ACCOUNT)
    source.start()
    doors.wait_inside("first", "second")
    source.stop()
    doors.release("first", "second")


def test_failure_is_a_result_like_any_other_and_is_told(invoker: Any, failed: Any) -> None:
    told: list[Any] = []
    invoker.answer = lambda _: failed
    assert (
        ScheduleSource(Schedule("Sweep", 60, {}), invoker, account=ACCOUNT, on_result=told.append).fire_now() == failed
    )
    assert told == [failed]
