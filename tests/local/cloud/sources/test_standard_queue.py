"""A standard queue on the engine as an event source: no order, delayed messages."""

import time
from typing import Any

import pytest

from local.cloud.engine import Engine
from local.cloud.invoke import Result
from tests.local.cloud.sources.queues import Queue, Start, bodies


@pytest.fixture
def queue(engine: Engine) -> Queue:
    return Queue(engine)


def test_a_record_of_a_standard_queue_has_no_group(start: Start, queue: Queue, invoker: Any) -> None:
    start(queue)
    queue.put("x")
    (record,) = invoker.next()["Records"]
    assert record["attributes"].keys() == {
        "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp",
        "SenderId",
        "SentTimestamp",
    }
    assert record["eventSourceARN"] == queue.arn(queue.url)


def test_messages_run_side_by_side_up_to_the_limit(start: Start, queue: Queue, invoker: Any, doors: Any) -> None:
    invoker.answer = lambda event: doors.enter(bodies(event)[0])
    start(queue, max_concurrency=2)
    for body in "abc":
        queue.put(body)
    doors.wait_inside("a", "b")
    assert queue.left() == (1, 2)
    doors.release("a")
    doors.wait_inside("b", "c")
    doors.release("b", "c")


def test_copies_of_a_message_are_all_delivered(start: Start, queue: Queue, invoker: Any) -> None:
    source = start(queue)
    for _ in range(3):
        queue.put("same")
    assert [bodies(invoker.next()) for _ in range(3)] == [["same"]] * 3
    source.stop()
    assert queue.left() == (0, 0)


def test_a_delayed_message_comes_at_its_time(start: Start, queue: Queue, invoker: Any) -> None:
    start(queue)
    sent = time.time()
    queue.put("later", DelaySeconds=2)
    queue.put("now")
    assert bodies(invoker.next()) == ["now"]
    assert invoker.idle
    assert bodies(invoker.next()) == ["later"]
    assert time.time() - sent >= 1.9


def test_a_failed_message_holds_up_no_other(start: Start, queue: Queue, invoker: Any, failed: Result) -> None:
    invoker.answer = lambda event: failed if bodies(event) == ["bad"] else None
    source = start(queue)
    queue.put("bad")
    assert bodies(invoker.next()) == ["bad"]
    queue.put("good")
    assert bodies(invoker.next()) == ["good"]
    source.stop()
    assert queue.left() == (0, 1)
