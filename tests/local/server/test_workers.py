"""Threads that take work: no more than needed, never two for one handoff, and none that an error ends."""

import logging
import threading
from collections.abc import Iterator

import pytest

from local.server.composition import _Durable
from local.server.pool import Lanes, Pool, Visitors
from local.server.workers import HandoffWorkers, Outage, QueueWorkers
from shared.clock import SystemClock
from shared.domain.routes import Place
from shared.errors import DiskFull, NotSent
from shared.ports.platforms import Part
from shared.sqlite.database import Database
from shared.sqlite.queues import Received, SqliteQueue
from tests.support.fake_platform import FakePlatform
from tests.support.table_backends import new_database
from tests.support.waiting import eventually

SECONDS = 20.0


@pytest.fixture
def database() -> Iterator[Database]:
    with new_database() as database:
        yield database


def test_an_idle_thread_is_used_again() -> None:
    pool, names = Pool(8, "test"), list[str]()
    for _ in range(5):
        pool.submit(lambda: names.append(threading.current_thread().name))
        assert pool.wait_idle(SECONDS)

    assert len(set(names)) == 1


def test_work_beyond_the_size_waits_for_a_thread() -> None:
    pool, gate, done = Pool(2, "test"), threading.Event(), list[bool]()
    for _ in range(4):
        pool.submit(lambda: done.append(gate.wait(SECONDS)))

    assert pool.free == -2
    assert not pool.wait_idle(0.0)
    gate.set()
    assert pool.wait_idle(SECONDS)
    assert (done, pool.free) == ([True] * 4, 2)


def test_a_thread_that_has_nothing_to_do_ends() -> None:
    pool, gate, done = Pool(8, "ending", idle_seconds=0.01), threading.Event(), list[bool]()

    def threads() -> int:
        return sum(thread.name.startswith("ending-") for thread in threading.enumerate())

    for _ in range(5):
        pool.submit(lambda: done.append(gate.wait(SECONDS)))
    busy = threads()
    gate.set()
    eventually(lambda: threads() == 0)

    assert (busy, done) == (5, [True] * 5)
    pool.submit(lambda: done.append(False))
    eventually(lambda: done[5:] == [False])


def test_no_work_is_lost_between_the_end_and_the_start_of_threads() -> None:
    pool, done = Pool(4, "brief", idle_seconds=0.0001), list[int]()
    for number in range(2000):
        pool.submit(lambda number=number: done.append(number))  # type: ignore[misc]  # mypy cannot infer the default
        if number % 7 == 0:
            assert pool.wait_idle(SECONDS)

    assert pool.wait_idle(SECONDS)
    assert sorted(done) == list(range(2000))


def test_an_error_ends_no_thread(caplog: pytest.LogCaptureFixture) -> None:
    pool, done = Pool(1, "test"), list[str]()
    pool.submit(lambda: 1 / 0)
    pool.submit(lambda: done.append("alive"))

    assert pool.wait_idle(SECONDS)
    assert done == ["alive"]
    assert "ZeroDivisionError" in caplog.text


def test_a_handoff_that_changes_while_it_is_processed_is_processed_again() -> None:
    gate, begun, seen = threading.Semaphore(0), threading.Event(), list[str]()

    def process(handoff_id: str) -> None:
        begun.set()
        gate.acquire(timeout=SECONDS)
        seen.append(handoff_id)

    lanes = Lanes(8, "test")
    workers = HandoffWorkers(lanes, process)
    workers.changed({"handoff_id": "h", "state": "pending", "platform": "slack"})
    assert begun.wait(SECONDS)
    for _ in range(5):
        workers.changed({"handoff_id": "h", "state": "pending", "platform": "slack"})
    workers.changed({"handoff_id": "other", "state": "running", "platform": "slack"})
    gate.release(2)

    assert lanes.of("slack").wait_idle(SECONDS)
    assert seen == ["h", "h"]


def test_nothing_begins_after_a_stop() -> None:
    lanes, seen = Lanes(1, "test"), list[str]()
    workers = HandoffWorkers(lanes, seen.append)
    workers.stop()
    workers.wake("h", "slack")

    assert lanes.of("slack").wait_idle(SECONDS)
    assert seen == []


def test_handoffs_that_wait_for_a_thread_do_not_begin_after_a_stop() -> None:
    lanes, begun, gate, seen = Lanes(1, "test"), threading.Event(), threading.Event(), list[str]()

    def process(handoff_id: str) -> None:
        seen.append(handoff_id)
        begun.set()
        assert gate.wait(SECONDS)

    workers = HandoffWorkers(lanes, process)
    for number in range(5):
        workers.wake(f"h-{number}", "slack")
    assert begun.wait(SECONDS)
    workers.stop()
    gate.set()

    assert lanes.of("slack").wait_idle(SECONDS)
    assert seen == ["h-0"]


def test_a_platform_that_hangs_takes_no_thread_of_another() -> None:
    lanes, gate, seen = Lanes(2, "test"), threading.Event(), list[str]()

    def process(handoff_id: str) -> None:
        if handoff_id.startswith("slow"):
            assert gate.wait(SECONDS)
        seen.append(handoff_id)

    workers = HandoffWorkers(lanes, process)
    for number in range(20):
        workers.wake(f"slow-{number}", "telegram")
    workers.wake("quick", "slack")

    assert lanes.of("slack").wait_idle(SECONDS)
    assert seen == ["quick"]
    gate.set()
    assert lanes.of("telegram").wait_idle(SECONDS)
    assert len(seen) == 21, "what waited for a thread is not lost"


def test_few_threads_of_other_lanes_wait_for_a_platform() -> None:
    lanes, visitors, gate = Lanes(8, "test"), Visitors(2), threading.Event()
    admitted, refused = threading.Semaphore(0), list[str]()

    def call(name: str) -> None:
        with visitors.admitted("telegram") as is_admitted:
            if not is_admitted:
                refused.append(name)
                return
            admitted.release()
            assert gate.wait(SECONDS)

    for number in range(5):
        lanes.of("slack").submit(lambda number=number: call(f"slack {number}"))  # type: ignore[misc]  # mypy cannot infer the default
        lanes.of("telegram").submit(lambda number=number: call(f"telegram {number}"))  # type: ignore[misc]
    for _ in range(7):
        assert admitted.acquire(timeout=SECONDS)
    eventually(lambda: len(refused) == 3)
    with visitors.admitted("telegram") as is_admitted:  # not in a lane: an HTTP request
        assert is_admitted
    gate.set()

    assert all(pool.wait_idle(SECONDS) for pool in lanes.all())
    assert all(name.startswith("slack") for name in refused)
    lanes.of("slack").submit(lambda: call("later"))
    assert lanes.of("slack").wait_idle(SECONDS)
    assert "later" not in refused


def test_a_call_of_another_lane_fails_while_too_many_wait() -> None:
    platform = FakePlatform("both")
    seen, place = dict[str, str](), Place("chat", "home")

    def send(lane: str) -> None:
        durable = _Durable("chat", platform, lambda: None, Visitors(0))
        assert durable.link(place)  # calls that raise nothing are not refused
        try:
            seen[lane] = durable.send(place, Part("hi"), key=lane)
        except NotSent as refused:
            seen[lane] = str(refused)

    lanes = Lanes(1, "test")
    for name in ("chat", "other"):
        lanes.of(name).submit(lambda name=name: send(name))  # type: ignore[misc]  # mypy cannot infer the default
        assert lanes.of(name).wait_idle(SECONDS)

    assert seen["other"] == "chat has not answered earlier calls yet"
    assert len(platform.said(place)) == 1


def test_a_file_that_cannot_be_used_is_reported_each_minute(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    seconds = iter([0.0, 1.0, 59.0, 61.0])
    outage = Outage(lambda: next(seconds))
    for _ in range(4):
        outage.met(DiskFull("the file"))
    outage.over()
    outage.over()

    said = [record.getMessage() for record in caplog.records]
    assert said == [str(DiskFull("the file"))] * 2 + ["the database file can be used again"]


def test_work_that_the_file_refuses_is_repeated_until_a_stop() -> None:
    stopping, tries = threading.Event(), list[int]()

    def refused() -> None:
        tries.append(1)
        if len(tries) == 2:
            stopping.set()
        raise DiskFull("the file")

    Outage().outlast(refused, stopping)
    assert len(tries) == 2


def test_messages_are_run_when_they_are_ready_and_after_errors(database: Database) -> None:
    wake, seen = threading.Event(), list[str]()
    pool = Pool(2, "test", freed=wake.set)
    queue = SqliteQueue(database, SystemClock(), "turns", visibility=60, changed=wake.set)

    def work(received: Received) -> None:
        seen.append(received.body)
        if len(seen) == 1:
            queue.set_visibility(received.receipt, 0.05)
            raise DiskFull("the file")
        queue.done(received.receipt)

    workers = QueueWorkers(queue, SystemClock(), wake, pool, work)
    workers.start()
    queue.put("first", line="a")
    queue.put("second", line="a")
    for number in range(5):
        queue.put(f"other {number}")

    eventually(lambda: len(seen) == 8 and queue.next_at() is None)
    workers.stop()
    assert [body for body in seen if "other" not in body] in (["first", "first", "second"], ["first", "second"])
    queue.put("too late")
    assert pool.wait_idle(SECONDS)
    assert "too late" not in seen


def test_messages_that_wait_for_a_thread_are_run_when_one_is_free(database: Database) -> None:
    wake, gates, seen = threading.Event(), threading.Semaphore(0), list[str]()
    queue = SqliteQueue(database, SystemClock(), "turns", visibility=60, changed=wake.set)
    pool = Pool(1, "test", freed=lambda: workers.freed())  # noqa: PLW0108  # made below

    def work(received: Received) -> None:
        gates.acquire(timeout=SECONDS)
        seen.append(received.body)
        queue.done(received.receipt)

    workers = QueueWorkers(queue, SystemClock(), wake, pool, work)
    workers.start()
    for number in range(5):
        queue.put(str(number))
    gates.release(5)

    eventually(lambda: len(seen) == 5)
    workers.stop()
