"""One batch of stream records from its first call to its end, without threads, clocks or queues."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from local.cloud.invoke import Result
from local.cloud.sources.delivery import Batch, Delivery, Discarded, growing_pause
from local.cloud.sources.record import Record
from local.cloud.stack import StreamMapping

MAPPING = StreamMapping(
    function="Process",
    stream_arn="arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/1",
    batch_size=10,
    window_seconds=0,
    filters=(),
    max_retries=2,
    max_age_seconds=-1,
    bisect=False,
    parallelization=1,
    partial_failures=True,
    on_failure_queue_url=None,
    starting_position="TRIM_HORIZON",
)
FAILED = Result(error={"errorType": "ValueError", "errorMessage": "no"})


class Run:
    """Delivers "abc" as three records and keeps all that happened."""

    def __init__(self, mapping: StreamMapping, answer: Callable[[str], Result]) -> None:
        self.calls: list[str] = []
        self.discarded: list[tuple[str, str, int]] = []
        self.pauses: list[float] = []
        self.now = 0.0
        self.goes_on = True
        self._answer = answer
        self._delivery = Delivery(
            mapping, invoke=self._invoke, discard=self._discard, now=lambda: self.now, pause=self._pause
        )

    def deliver(self, names: str) -> "Run":
        self._delivery.deliver([Record({}, name, name, 0.0) for name in names])
        return self

    def _invoke(self, batch: Batch) -> Result:
        self.calls.append("".join(record.sequence for record in batch))
        return self._answer(self.calls[-1])

    def _discard(self, discarded: Discarded) -> None:
        names = "".join(record.sequence for record in discarded.records)
        self.discarded.append((names, discarded.condition, discarded.invocations))

    def _pause(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        return self.goes_on


def poison(name: str) -> Callable[[str], Result]:
    """A function that raises whenever it sees the record."""
    return lambda batch: FAILED if name in batch else Result()


def reports(name: str) -> Callable[[str], Result]:
    """A function that says which record failed."""
    return lambda batch: Result(payload={"batchItemFailures": [{"itemIdentifier": name}] if name in batch else []})


def test_success_is_one_call() -> None:
    run = Run(MAPPING, lambda _: Result()).deliver("abc")
    assert (run.calls, run.discarded, run.pauses) == (["abc"], [], [])


@pytest.mark.parametrize(
    "payload", [None, {}, {"batchItemFailures": []}, {"batchItemFailures": None}, "", {"other": "answer"}]
)
def test_empty_answers_are_successes(payload: Any) -> None:
    assert Run(MAPPING, lambda _: Result(payload=payload)).deliver("abc").calls == ["abc"]


@pytest.mark.parametrize(
    "payload",
    [
        {"batchItemFailures": [{"itemIdentifier": "unknown"}]},
        {"batchItemFailures": [{"itemIdentifier": "b"}, {"itemIdentifier": "unknown"}]},
        {"batchItemFailures": [{"itemIdentifier": ""}]},
        {"batchItemFailures": [{"itemIdentifier": None}]},
        {"batchItemFailures": [{"wrong": "b"}]},
        {"batchItemFailures": ["b"]},
        {"batchItemFailures": "b"},
        "done",
    ],
)
def test_invalid_answers_fail_the_whole_batch(payload: Any) -> None:
    run = Run(replace(MAPPING, max_retries=0), lambda _: Result(payload=payload)).deliver("abc")
    assert run.discarded == [("abc", "RetryAttemptsExhausted", 1)]


def test_partial_failures_need_the_mappings_setting() -> None:
    assert Run(replace(MAPPING, partial_failures=False), reports("b")).deliver("abc").calls == ["abc"]


def test_a_partial_failure_retries_from_the_first_failed() -> None:
    answers = iter(["cb", "", ""])
    run = Run(
        MAPPING, lambda _: Result(payload={"batchItemFailures": [{"itemIdentifier": i} for i in next(answers)]})
    ).deliver("abcd")
    assert run.calls == ["abcd", "bcd"]
    assert run.discarded == []


def test_a_failing_record_is_discarded_after_its_retries() -> None:
    run = Run(replace(MAPPING, max_retries=3), poison("x")).deliver("x")
    assert run.calls == ["x"] * 4
    assert run.pauses == [0.1, 0.2, 0.4]
    assert run.discarded == [("x", "RetryAttemptsExhausted", 4)]


def test_pauses_grow_up_to_five_seconds() -> None:
    assert [growing_pause(failures) for failures in (1, 2, 6, 7, 1000)] == [0.1, 0.2, 3.2, 5.0, 5.0]


def test_bisection_isolates_a_record_and_is_no_retry() -> None:
    run = Run(replace(MAPPING, bisect=True, max_retries=1), poison("x")).deliver("abxd")
    assert run.calls == ["abxd", "ab", "xd", "x", "x", "d"]
    assert run.discarded == [("x", "RetryAttemptsExhausted", 2)]
    assert run.pauses == [0.1]


def test_without_bisection_the_whole_batch_is_discarded() -> None:
    run = Run(replace(MAPPING, max_retries=1), poison("x")).deliver("abx")
    assert run.discarded == [("abx", "RetryAttemptsExhausted", 2)]


def test_a_reported_failure_discards_one_record() -> None:
    run = Run(replace(MAPPING, bisect=True, max_retries=1), reports("x")).deliver("abxcd")
    assert run.discarded == [("x", "RetryAttemptsExhausted", 2)]
    assert run.calls[0] == "abxcd"
    assert run.calls[1] == "xcd"
    assert run.calls[-1] == "cd"


def test_time_out_is_a_failure_like_any_other() -> None:
    late = Result(error={"errorMessage": "Task timed out after 3.00 seconds"}, timed_out=True)
    assert Run(replace(MAPPING, max_retries=0), lambda _: late).deliver("a").discarded[0][0] == "a"


def test_a_record_over_its_age_is_not_retried() -> None:
    def answer(_: str) -> Result:
        run.now += 40
        return FAILED

    run = Run(replace(MAPPING, max_age_seconds=60, max_retries=-1), answer)
    run.deliver("a")
    assert run.calls == ["a", "a"]
    assert run.discarded == [("a", "RecordAgeExceeded", 2)]


def test_a_record_that_is_too_old_is_never_delivered() -> None:
    run = Run(replace(MAPPING, max_age_seconds=60), lambda _: Result())
    run.now = 61
    run.deliver("ab")
    assert run.calls == []
    assert run.discarded == [("ab", "RecordAgeExceeded", 0)]


def test_endless_retries_end_when_the_source_stops() -> None:
    run = Run(replace(MAPPING, max_retries=-1), poison("x"))
    run.goes_on = False
    run.deliver("xy")
    assert run.calls == ["xy"]
    assert run.discarded == []
