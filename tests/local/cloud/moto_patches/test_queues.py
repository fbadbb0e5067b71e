"""SQS FIFO queues as AWS has them, with one consumer and with many."""

import itertools
import json
import time
from typing import Any

import pytest
from botocore.exceptions import ClientError

IDS = itertools.count()


def _send(sqs: Any, queue: str, body: str, group: str = "g", dedupe: str | None = None) -> Any:
    return sqs.send_message(
        QueueUrl=queue,
        MessageBody=body,
        MessageGroupId=group,
        MessageDeduplicationId=dedupe or f"unique-{next(IDS)}",
    )


def _receive(sqs: Any, queue: str, **more: Any) -> list[Any]:
    answer = sqs.receive_message(QueueUrl=queue, MessageSystemAttributeNames=["All"], **more)
    messages: list[Any] = answer.get("Messages", [])
    return messages


def _bodies(messages: list[Any]) -> list[str]:
    return [message["Body"] for message in messages]


def _delete(sqs: Any, queue: str, message: Any) -> None:
    sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


def test_a_batch_returns_in_order_after_its_time_out(sqs: Any, fifo: str) -> None:
    for body in ("1", "2", "3"):
        _send(sqs, fifo, body)
    assert _bodies(_receive(sqs, fifo, MaxNumberOfMessages=10, VisibilityTimeout=1)) == ["1", "2", "3"]
    again = _receive(sqs, fifo, MaxNumberOfMessages=10, WaitTimeSeconds=10)
    assert _bodies(again) == ["1", "2", "3"]
    assert {message["Attributes"]["ApproximateReceiveCount"] for message in again} == {"2"}


def test_a_deduplication_id_outlives_its_message(sqs: Any, fifo: str) -> None:
    sent = _send(sqs, fifo, "first", dedupe="same")
    (message,) = _receive(sqs, fifo)
    _delete(sqs, fifo, message)
    again = _send(sqs, fifo, "second", dedupe="same")
    assert again["MessageId"] == sent["MessageId"]
    assert again["SequenceNumber"] == sent["SequenceNumber"]
    assert _receive(sqs, fifo) == []


def test_sequence_numbers_grow(sqs: Any, fifo: str) -> None:
    numbers = [_send(sqs, fifo, str(n))["SequenceNumber"] for n in range(20)]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 20


def test_visibility_can_be_prolonged(sqs: Any, fifo: str) -> None:
    _send(sqs, fifo, "a")
    (message,) = _receive(sqs, fifo, VisibilityTimeout=1)
    sqs.change_message_visibility(QueueUrl=fifo, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=30)
    assert _receive(sqs, fifo, WaitTimeSeconds=2) == []


def test_an_expired_receipt_handle_is_refused(sqs: Any, fifo: str) -> None:
    _send(sqs, fifo, "a")
    (old,) = _receive(sqs, fifo, VisibilityTimeout=1)
    (new,) = _receive(sqs, fifo, VisibilityTimeout=30, WaitTimeSeconds=10)
    with pytest.raises(ClientError, match="receipt handle has expired"):
        _delete(sqs, fifo, old)
    with pytest.raises(ClientError, match="MessageNotInflight"):
        sqs.change_message_visibility(QueueUrl=fifo, ReceiptHandle=old["ReceiptHandle"], VisibilityTimeout=30)
    _delete(sqs, fifo, new)
    _delete(sqs, fifo, new)  # deleting twice is fine
    assert _receive(sqs, fifo) == []


def test_no_single_message_can_be_delayed(sqs: Any, fifo: str) -> None:
    with pytest.raises(ClientError, match="DelaySeconds"):
        sqs.send_message(QueueUrl=fifo, MessageBody="x", MessageGroupId="g", MessageDeduplicationId="d", DelaySeconds=5)


def test_a_long_poll_wakes_when_a_message_arrives(sqs: Any, fifo: str, race: Any) -> None:
    def one_sends_the_others_wait(number: int) -> None:
        if number == 0:
            for group in range(15):
                _send(sqs, fifo, "x", f"g{group}")
        else:
            assert len(_receive(sqs, fifo, WaitTimeSeconds=20, VisibilityTimeout=60)) == 1

    started = time.monotonic()
    assert race(one_sends_the_others_wait) == ["won"] * 16
    assert time.monotonic() - started < 10


def test_a_long_poll_on_a_blocked_group_is_not_busy(sqs: Any, fifo: str) -> None:
    _send(sqs, fifo, "1")
    _send(sqs, fifo, "2")
    _receive(sqs, fifo, VisibilityTimeout=60)
    worked = time.process_time()
    assert _receive(sqs, fifo, WaitTimeSeconds=2) == []
    assert time.process_time() - worked < 0.7


def test_dead_letters_are_not_deduplicated(sqs: Any) -> None:
    graveyard = sqs.create_queue(QueueName=f"dead-{next(IDS)}.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=graveyard, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    queue = sqs.create_queue(
        QueueName=f"dying-{next(IDS)}.fifo",
        Attributes={
            "FifoQueue": "true",
            "DeduplicationScope": "messageGroup",
            "FifoThroughputLimit": "perMessageGroupId",
            "RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2}),
        },
    )["QueueUrl"]
    for group in ("a", "b"):
        _send(sqs, queue, f"poison {group}", group, "same")
        _send(sqs, queue, f"next {group}", group)
    for _ in range(2):
        for message in _receive(sqs, queue, MaxNumberOfMessages=10, VisibilityTimeout=30):
            if message["Body"].startswith("poison"):
                handle = message["ReceiptHandle"]
                sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0)
            else:
                _delete(sqs, queue, message)
    assert _receive(sqs, queue) == []
    assert sorted(_bodies(_receive(sqs, graveyard, MaxNumberOfMessages=10))) == ["poison a", "poison b"]


def test_many_consumers_get_each_message_once(sqs: Any, fifo: str, race: Any) -> None:
    for number in range(10):
        for group in range(4):
            _send(sqs, fifo, f"{group}:{number}", f"g{group}")
    done: list[str] = []

    def consume(_: int) -> None:
        while messages := _receive(sqs, fifo, VisibilityTimeout=30, WaitTimeSeconds=1):
            done.extend(_bodies(messages))
            _delete(sqs, fifo, messages[0])

    assert set(race(consume)) == {"won"}
    for group in range(4):
        mine = [body for body in done if body.startswith(f"{group}:")]
        assert mine == [f"{group}:{number}" for number in range(10)]
