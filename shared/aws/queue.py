"""Turns on SQS FIFO (one group per place: in order, one message at a time), and Runs on a standard queue."""

import contextlib
import hashlib
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from shared.ports.queue import MAX_DELAY, DeadTurn, RunMessage, TurnMessage
from shared.ports.queue_text import body_of, message_of, run_body_of

log = logging.getLogger(__name__)
_MOST_BATCHES = 50
"""Batches of unreadable dead letters that are passed over at once."""


class SqsTurnQueue:
    """The `TurnQueue` port."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = url

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        self._client.send_message(
            QueueUrl=self._url,
            MessageBody=body_of(message),
            MessageGroupId=_token(line or message.place.route),
            MessageDeduplicationId=_token(dedupe),
        )


class SqsRunQueue:
    """The `RunQueue` port."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = url

    def send(self, run: RunMessage, *, delay: float = 0.0, again: float | None = None) -> None:
        for after in [delay] if again is None else [delay, again]:
            seconds = math.ceil(max(0.0, min(after, MAX_DELAY)))
            self._client.send_message(QueueUrl=self._url, MessageBody=run_body_of(run), DelaySeconds=seconds)


class SqsDeadTurns:
    """The `DeadTurns` port on the dead-letter queue."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = url

    def receive(self, *, limit: int) -> Sequence[DeadTurn]:
        """A message that cannot be parsed is left to the queue's retention and hides no others: it is passed over."""
        for _ in range(_MOST_BATCHES):
            answer = self._client.receive_message(QueueUrl=self._url, MaxNumberOfMessages=min(limit, 10))
            messages = answer.get("Messages", [])
            if found := [dead for message in messages if (dead := _dead_turn(message))]:
                return found
            if not messages:
                break
        return []

    def delete(self, dead: DeadTurn) -> None:
        self._client.delete_message(QueueUrl=self._url, ReceiptHandle=dead.handle)


def _dead_turn(message: Mapping[str, str]) -> DeadTurn | None:
    try:
        return DeadTurn(message_of(message["Body"]), message["ReceiptHandle"])
    except ValueError:
        log.error("a dead letter cannot be read: message %s", message["MessageId"])  # noqa: TRY400  # a traceback adds nothing
        return None


class SqsVisibility:
    """The `Visibility` port for one received message."""

    def __init__(self, client: Any, url: str, receipt_handle: str) -> None:
        self._client = client
        self._url = url
        self._receipt_handle = receipt_handle

    def set(self, seconds: int) -> None:
        """Best effort: an invalid receipt means that another worker has the message; a lost call, that it comes back late."""
        with contextlib.suppress(ClientError, BotoCoreError):
            self._client.change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=self._receipt_handle, VisibilityTimeout=max(0, min(seconds, 43_200))
            )


def _token(text: str) -> str:
    """SQS accepts 128 characters of a limited set; a hash fits any id of any platform."""
    return hashlib.sha256(text.encode()).hexdigest()
