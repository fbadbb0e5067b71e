"""What the Runs queue promises, on SQS, SQLite and the fake."""

import time
from collections.abc import Iterator

import pytest

from shared.aws.queue import SqsRunQueue
from shared.domain.routes import Place
from shared.ports.queue import Fetch, Run
from tests.contracts.queue.run_harness import FakeRuns, RunHarness, SqliteRuns, sqs_runs
from tests.support.fake_queue import FakeRunQueue, ManualClock
from tests.support.table_backends import new_database

FIRST, SECOND = Run("s-1", "t-1"), Run("s-2", "t-2")
PATIENCE = 20


@pytest.fixture(params=["sqs", "sqlite", "fake"])
def at(request: pytest.FixtureRequest) -> Iterator[RunHarness]:
    if request.param == "fake":
        yield FakeRuns()
    elif request.param == "sqlite":
        with new_database() as database:
            yield SqliteRuns(database)
    else:
        with sqs_runs(request.getfixturevalue("engine")) as harness:
            yield harness


def test_a_run_is_received_until_it_is_deleted(at: RunHarness) -> None:
    assert at.take() == []
    at.queue.send(FIRST)
    assert at.take() == [FIRST]
    assert at.take() == []


def test_copies_of_a_run_are_all_received(at: RunHarness) -> None:
    for run in (FIRST, SECOND, FIRST):
        at.queue.send(run)
    assert sorted(map(str, at.take())) == sorted(map(str, (FIRST, SECOND, FIRST)))


@pytest.mark.parametrize("delay", [2, 1.01])
def test_a_delayed_run_is_not_received_before_its_time(at: RunHarness, delay: float) -> None:
    began = time.monotonic()
    at.queue.send(FIRST, delay=delay)
    early = at.take(within=1)
    assert early == [] or time.monotonic() - began >= delay, "before its time, and not because the machine was slow"
    assert (early or at.take(within=PATIENCE)) == [FIRST]


def test_a_run_that_is_sent_again_is_received_at_both_times(at: RunHarness) -> None:
    at.queue.send(FIRST, again=2)
    assert at.take(within=1) == [FIRST]
    assert at.take(within=PATIENCE) == [FIRST]


def test_both_times_of_a_run_are_counted_from_now(at: RunHarness) -> None:
    at.queue.send(FIRST, delay=60, again=0)
    assert at.take() == [FIRST]
    assert at.take() == []


def test_a_delayed_run_holds_up_no_other(at: RunHarness) -> None:
    at.queue.send(FIRST, delay=60)
    at.queue.send(SECOND)
    assert at.take() == [SECOND]


@pytest.mark.parametrize(("delay", "seconds"), [(-5, 0), (0.0, 0), (0.001, 1), (89.5, 90), (900, 900), (86_400, 900)])
def test_a_delay_is_whole_seconds_and_at_most_15_minutes(delay: float, seconds: int) -> None:
    sent: list[int] = []

    class Recorder:
        def send_message(self, *, DelaySeconds: int, **_: object) -> None:  # noqa: N803  # boto3's name
            sent.append(DelaySeconds)

    SqsRunQueue(Recorder(), "url").send(FIRST, delay=delay)
    assert sent == [seconds]

    clock = ManualClock()
    fake = FakeRunQueue(clock)
    fake.send(FIRST, delay=delay)
    assert fake.waiting == [(FIRST, clock.now() + seconds * 1000)]


def test_files_to_read_are_received_as_they_were_sent(at: RunHarness) -> None:
    fetch = Fetch(Place("telegram", "1001", "17"), "0001", "s-1")
    at.queue.send(fetch)
    assert at.take() == [fetch]
