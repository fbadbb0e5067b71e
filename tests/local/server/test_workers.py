"""Threads that take work: no more than needed, never two for one handoff, and none that an error ends."""

import logging
import threading
from collections.abc import Iterator

import pytest

from local.server.pool import Pool
from local.server.workers import HandoffWorkers, Outage, QueueWorkers
from shared.clock import SystemClock
from shared.errors import DiskFull
from shared.sqlite.database import Database
from shared.sqlite.queues import Received, SqliteQueue
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

    pool = Pool(8, "test")
    workers = HandoffWorkers(pool, process)
    workers.changed({"handoff_id": "h", "state": "pending"})
    assert begun.wait(SECONDS)
    for _ in range(5):
        workers.changed({"handoff_id": "h", "state": "pending"})
    workers.changed({"handoff_id": "other", "state": "running"})
    gate.release(2)

    assert pool.wait_idle(SECONDS)
    assert seen == ["h", "h"]


def test_nothing_begins_after_a_stop() -> None:
    pool, seen = Pool(1, "test"), list[str]()
    workers = HandoffWorkers(pool, seen.append)
    workers.stop()
    workers.wake("h")

    assert pool.wait_idle(SECONDS)
    assert seen == []


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
