"""The Turns queue: what travels, in which line, and what the sweep finds dead."""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from shared.aws.queue import SqsDeadTurns, SqsTurnQueue, SqsVisibility
from shared.domain.routes import Place
from shared.ports.queue import InboxEvent, Kickoff
from shared.ports.queue_text import message_of

if TYPE_CHECKING:
    from local.cloud.engine import Engine

HERE = Place("telegram", "-1001", "17")
THERE = Place("slack", "C:1", "1.2")
NUMBERS = itertools.count()


@pytest.fixture
def sqs(engine: "Engine") -> Any:
    return engine.client("sqs")


@pytest.fixture
def url(sqs: Any) -> Iterator[str]:
    queue = sqs.create_queue(QueueName=f"turns-{next(NUMBERS)}.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    yield queue
    sqs.delete_queue(QueueUrl=queue)


def received(sqs: Any, url: str) -> list[dict[str, Any]]:
    """One at a time, as the mapping does, until no line has more to give."""
    found: list[dict[str, Any]] = []
    while messages := sqs.receive_message(QueueUrl=url, AttributeNames=["All"]).get("Messages"):
        found += messages
    return found


def test_the_same_wake_up_is_queued_once(sqs: Any, url: str) -> None:
    queue = SqsTurnQueue(sqs, url)
    for _ in range(3):
        queue.send(InboxEvent(HERE, "1"), dedupe="event 1")
    assert [message_of(raw["Body"]) for raw in received(sqs, url)] == [InboxEvent(HERE, "1")]


def test_each_place_is_a_line_of_its_own(sqs: Any, url: str) -> None:
    queue = SqsTurnQueue(sqs, url)
    for place, event in itertools.product((HERE, THERE, HERE.home), ("1", "2")):
        queue.send(InboxEvent(place, event), dedupe=f"{place.route} {event}")
    seen = received(sqs, url)
    first = {InboxEvent(place, "1") for place in (HERE, THERE, HERE.home)}
    assert len(seen) == 3
    assert {message_of(raw["Body"]) for raw in seen} == first, "the second waits for the first"


def test_what_must_not_wait_has_a_line_of_its_own(sqs: Any, url: str) -> None:
    queue = SqsTurnQueue(sqs, url)
    queue.send(InboxEvent(HERE, "1"), dedupe="1")
    queue.send(Kickoff(HERE, "h-1"), dedupe="2", line="again h-1")
    assert len(received(sqs, url)) == 2


def test_any_place_and_any_dedupe_fits_what_sqs_takes(sqs: Any, url: str) -> None:
    SqsTurnQueue(sqs, url).send(InboxEvent(Place("x", "Zoë 🚀" * 100), "1"), dedupe="ü" * 500)
    assert len(received(sqs, url)) == 1


def test_a_hold_that_is_let_go_gives_the_message_back(sqs: Any, url: str) -> None:
    SqsTurnQueue(sqs, url).send(InboxEvent(HERE, "1"), dedupe="1")
    (held,) = received(sqs, url)
    visibility = SqsVisibility(sqs, url, held["ReceiptHandle"])
    visibility.set(60)
    assert received(sqs, url) == []
    visibility.set(0)
    assert len(received(sqs, url)) == 1


def test_an_invalid_receipt_is_no_error(sqs: Any, url: str) -> None:
    SqsVisibility(sqs, url, "no such receipt").set(30)


def test_dead_letters_are_read_and_deleted(sqs: Any, url: str) -> None:
    SqsTurnQueue(sqs, url).send(Kickoff(HERE, "h-1"), dedupe="1")
    dead_turns = SqsDeadTurns(sqs, url)
    (dead,) = dead_turns.receive(limit=5)
    assert dead.message == Kickoff(HERE, "h-1")
    dead_turns.delete(dead)
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "0"})
    assert dead_turns.receive(limit=5) == []


@pytest.mark.parametrize("body", ["no json", '{"v":9,"place":"telegram:1"}', '{"v":1}', "[]"])
def test_an_unreadable_dead_letter_does_not_block_the_others(sqs: Any, url: str, body: str) -> None:
    sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId="a", MessageDeduplicationId="a")
    SqsTurnQueue(sqs, url).send(InboxEvent(HERE, "1"), dedupe="1")
    dead_turns = SqsDeadTurns(sqs, url)
    found = [dead for _ in range(2) for dead in dead_turns.receive(limit=10)]
    assert [dead.message for dead in found] == [InboxEvent(HERE, "1")]
