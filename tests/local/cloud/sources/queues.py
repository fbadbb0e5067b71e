"""Queues on the engine, as event sources of a function."""

import json
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from local.cloud.engine import Engine
from local.cloud.sources.queue import QueueSource

Start = Callable[..., QueueSource]


class Queue:
    """A standard queue with a dead-letter queue."""

    suffix = ""
    attributes: Mapping[str, str] = {}

    def __init__(self, engine: Engine, *, visibility: int = 60, receives: int = 100) -> None:
        self._client = engine.client("sqs")
        self.dead_url = self._make({})
        dead_arn = self.arn(self.dead_url)
        redrive = json.dumps({"deadLetterTargetArn": dead_arn, "maxReceiveCount": receives})
        self.url = self._make({"VisibilityTimeout": str(visibility), "RedrivePolicy": redrive})

    def _make(self, attributes: Mapping[str, str]) -> str:
        name = uuid4().hex + self.suffix
        url: str = self._client.create_queue(QueueName=name, Attributes={**self.attributes, **attributes})["QueueUrl"]
        return url

    def arn(self, url: str) -> str:
        answer = self._client.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        arn: str = answer["Attributes"]["QueueArn"]
        return arn

    def put(self, body: str, **more: Any) -> None:
        self._client.send_message(QueueUrl=self.url, MessageBody=body, **more)

    def release(self, record: Mapping[str, Any]) -> None:
        """What a function does that wants its message again at once."""
        self._client.change_message_visibility(
            QueueUrl=self.url, ReceiptHandle=record["receiptHandle"], VisibilityTimeout=0
        )

    def left(self) -> tuple[int, int]:
        """How many messages wait and how many are in flight."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return int(found[names[0]]), int(found[names[1]])

    def next_dead(self) -> Mapping[str, Any]:
        (message,) = self._client.receive_message(
            QueueUrl=self.dead_url, WaitTimeSeconds=20, MessageSystemAttributeNames=["All"]
        )["Messages"]
        dead: Mapping[str, Any] = message
        return dead


class Fifo(Queue):
    """A FIFO queue with a dead-letter queue."""

    suffix = ".fifo"
    attributes: Mapping[str, str] = {"FifoQueue": "true"}

    def send(self, body: str, group: str, **more: Any) -> None:
        self.put(body, MessageGroupId=group, MessageDeduplicationId=uuid4().hex, **more)


def bodies(event: Mapping[str, Any]) -> list[str]:
    return [record["body"] for record in event["Records"]]
