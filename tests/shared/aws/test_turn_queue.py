"""What is special about the Turns queue on SQS; tests/contracts/queue has the rest."""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from shared.aws.queue import SqsDeadTurns, SqsTurnQueue, SqsVisibility
from shared.domain.routes import Place
from shared.ports.queue import InboxEvent

if TYPE_CHECKING:
    from local.cloud.engine import Engine

HERE = Place("telegram", "-1001", "17")
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


def test_any_place_and_any_dedupe_fits_what_sqs_takes(sqs: Any, url: str) -> None:
    SqsTurnQueue(sqs, url).send(InboxEvent(Place("x", "Zoë 🚀" * 100), "1"), dedupe="ü" * 500)
    assert len(received(sqs, url)) == 1


def test_an_invalid_receipt_is_no_error(sqs: Any, url: str) -> None:
    SqsVisibility(sqs, url, "no such receipt").set(30)


@pytest.mark.parametrize("body", ["no json", '{"v":9,"place":"telegram:1"}', '{"v":1}', "[]"])
def test_an_unreadable_dead_letter_does_not_block_the_others(sqs: Any, url: str, body: str) -> None:
    sqs.send_message(QueueUrl=url, MessageBody=body, MessageGroupId="a", MessageDeduplicationId="a")
    SqsTurnQueue(sqs, url).send(InboxEvent(HERE, "1"), dedupe="1")
    dead_turns = SqsDeadTurns(sqs, url)
    found = [dead for _ in range(2) for dead in dead_turns.receive(limit=10)]
    assert [dead.message for dead in found] == [InboxEvent(HERE, "1")]
