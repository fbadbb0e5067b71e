"""A FIFO queue on the engine as an event source."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from local.cloud.engine import Engine
from local.cloud.invoke import Result
from tests.local.cloud.sources.queues import Fifo, Start, bodies


@pytest.fixture
def fifo(engine: Engine) -> Fifo:
    return Fifo(engine)


def test_record_has_the_shape_of_the_real_sample(
    start: Start, fifo: Fifo, invoker: Any, sample: Callable[[str], Any]
) -> None:
    (real,) = sample("queue_kickoff_turn")["Records"]
    start(fifo)
    fifo.send(real["body"], "telegram:1001:17")
    (record,) = invoker.next()["Records"]
    assert set(record) == set(real)
    assert set(record["attributes"]) == set(real["attributes"])
    assert record["body"] == real["body"]
    assert record["md5OfBody"] == real["md5OfBody"]
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert record["attributes"]["MessageGroupId"] == "telegram:1001:17"
    assert record["eventSourceARN"] == fifo.arn(fifo.url)
    assert invoker.functions == ["Turn"]


def test_message_attributes_travel_in_lambdas_shape(start: Start, fifo: Fifo, invoker: Any) -> None:
    start(fifo)
    fifo.send(
        "x",
        "g",
        MessageAttributes={
            "word": {"DataType": "String", "StringValue": "w"},
            "raw": {"DataType": "Binary", "BinaryValue": b"\xff"},
        },
    )
    (record,) = invoker.next()["Records"]
    empty: dict[str, list[str]] = {"stringListValues": [], "binaryListValues": []}
    assert record["messageAttributes"] == {
        "word": {**empty, "dataType": "String", "stringValue": "w"},
        "raw": {**empty, "dataType": "Binary", "binaryValue": "/w=="},
    }


def test_a_finished_message_is_deleted(start: Start, fifo: Fifo, invoker: Any) -> None:
    source = start(fifo)
    for number in range(5):
        fifo.send(str(number), "g")
    assert [bodies(invoker.next()) for _ in range(5)] == [["0"], ["1"], ["2"], ["3"], ["4"]]
    source.stop()
    assert fifo.left() == (0, 0)


def test_groups_run_side_by_side_and_each_group_one_at_a_time(
    start: Start, fifo: Fifo, invoker: Any, doors: Any
) -> None:
    invoker.answer = lambda event: doors.enter(bodies(event)[0])
    start(fifo)
    for group in "abcdefghij":
        for number in (1, 2):
            fifo.send(f"{group}{number}", group)
    firsts = [f"{group}1" for group in "abcdefghij"]
    doors.wait_inside(*firsts)
    assert sorted(doors.inside()) == firsts
    doors.release("c1")
    doors.wait_inside("c2")
    assert sorted(doors.inside()) == sorted([*set(firsts) - {"c1"}, "c2"])
    doors.release(*(f"{group}{number}" for group in "abcdefghij" for number in (1, 2)))
    for _ in range(20):
        invoker.next()


def test_failed_message_stays_hidden_and_holds_up_its_group_only(
    start: Start, fifo: Fifo, invoker: Any, failed: Result
) -> None:
    invoker.answer = lambda event: failed if bodies(event) == ["bad"] else None
    source = start(fifo)
    fifo.send("bad", "a")
    assert bodies(invoker.next()) == ["bad"]
    fifo.send("behind it", "a")
    fifo.send("other group", "b")
    assert bodies(invoker.next()) == ["other group"]
    source.stop()
    assert fifo.left() == (1, 1)


def test_failed_message_comes_back_when_its_visibility_ends(
    start: Start, engine: Engine, invoker: Any, failed: Result
) -> None:
    fifo = Fifo(engine, visibility=1)
    counts: list[str] = []

    def answer(event: Mapping[str, Any]) -> Result | None:
        counts.append(event["Records"][0]["attributes"]["ApproximateReceiveCount"])
        return failed if len(counts) == 1 else None

    invoker.answer = answer
    start(fifo)
    fifo.send("again", "a")
    assert [bodies(invoker.next()) for _ in range(2)] == [["again"], ["again"]]
    assert counts == ["1", "2"]


def test_visibility_that_the_function_changed_is_respected(
    start: Start, fifo: Fifo, invoker: Any, failed: Result
) -> None:
    def answer(event: Mapping[str, Any]) -> Result | None:
        (record,) = event["Records"]
        if record["attributes"]["ApproximateReceiveCount"] == "3":
            return None
        fifo.release(record)
        return failed

    invoker.answer = answer
    source = start(fifo)
    fifo.send("again", "a")
    for _ in range(3):
        assert bodies(invoker.next()) == ["again"]
    source.stop()
    assert fifo.left() == (0, 0)


def test_a_message_received_too_often_is_a_dead_letter(
    start: Start, engine: Engine, invoker: Any, failed: Result
) -> None:
    fifo = Fifo(engine, receives=3)

    def answer(event: Mapping[str, Any]) -> Result | None:
        if bodies(event) == ["fine"]:
            return None
        fifo.release(event["Records"][0])
        return failed

    invoker.answer = answer
    start(fifo)
    fifo.send("poison", "a")
    fifo.send("fine", "a")
    assert [bodies(invoker.next()) for _ in range(4)] == [["poison"]] * 3 + [["fine"]]
    dead = fifo.next_dead()
    assert dead["Body"] == "poison"
    assert dead["Attributes"]["MessageGroupId"] == "a"


def test_partial_failure_deletes_the_others(start: Start, fifo: Fifo, invoker: Any) -> None:
    def answer(event: Mapping[str, Any]) -> Any:
        return {"batchItemFailures": [{"itemIdentifier": r["messageId"]} for r in event["Records"] if r["body"] == "2"]}

    invoker.answer = answer
    for number in range(3):
        fifo.send(str(number), "a")
    source = start(fifo, batch_size=10, partial_failures=True)
    assert bodies(invoker.next()) == ["0", "1", "2"]
    source.stop()
    assert fifo.left() == (0, 1)


def test_a_failing_invoker_loses_no_message(start: Start, fifo: Fifo, invoker: Any) -> None:
    def answer(_: Mapping[str, Any]) -> None:
        raise LookupError("no such function")

    invoker.answer = answer
    source = start(fifo)
    fifo.send("x", "a")
    invoker.next()
    source.stop()
    assert fifo.left() == (0, 1)


def test_stopped_source_takes_no_more_messages(start: Start, fifo: Fifo, invoker: Any) -> None:
    source = start(fifo)
    fifo.send("first", "a")
    invoker.next()
    source.stop()
    fifo.send("second", "b")
    other = start(fifo)
    assert bodies(invoker.next()) == ["second"]
    other.stop()
