"""A queue as an event source: receives messages, invokes the function, deletes what succeeded."""

import base64
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.cloud.engine import Engine
from local.cloud.invoke import Invoker
from local.cloud.sources.delivery import growing_pause
from local.cloud.sources.denial import explained, log_error
from local.cloud.sources.partial import failed_ids
from local.cloud.stack import FunctionConfig, QueueMapping

POLL_SECONDS = 2  # long polling: a message ends the call at once
MOST_AT_ONCE = 100

Messages = Sequence[Mapping[str, Any]]


class QueueSource:
    """Polls from `start` to `stop`.

    The queue takes care of order, visibility and redrive; a failed message is not deleted. It calls AWS with the role of
    the mapped function, as Lambda does. `on_error` receives errors of receiving and deleting; the source retries by itself.
    """

    def __init__(
        self,
        mapping: QueueMapping,
        function: FunctionConfig,
        engine: Engine,
        invoker: Invoker,
        *,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        self._mapping = mapping
        self._engine = engine
        self._invoker = invoker
        self._sqs = engine.client("sqs", engine.assume(function.role_arn))
        self._on_error = on_error or log_error
        self._limit = mapping.max_concurrency or MOST_AT_ONCE
        self._running = 0
        self._changed = threading.Condition()
        self._stopped = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._poll, name=f"queue {self._mapping.queue_url}", daemon=True).start()

    def stop(self, patience: float = 1.0) -> None:
        """Receive no more messages, and wait up to `patience` seconds for those in progress."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._running, patience)

    def _poll(self) -> None:
        is_open, failures = False, 0
        while self._wait_for_room():
            try:
                if not is_open:
                    self._open()
                    is_open = True
                messages = self._receive()
                failures = 0
            except Exception as error:  # noqa: BLE001 - the poller must not end: the queue would stop
                failures += 1
                if not self._stopped.wait(growing_pause(failures)):
                    self._report(error)
                continue
            if messages and self._stopped.is_set():
                self._return(messages)
            elif messages:
                with self._changed:
                    self._running += 1
                threading.Thread(target=self._run, args=(messages,), name="queue batch", daemon=True).start()

    def _wait_for_room(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._running < self._limit or self._stopped.is_set())
        return not self._stopped.is_set()

    def _open(self) -> None:
        """Make the call that Lambda makes when a mapping is created."""
        self._sqs.get_queue_attributes(QueueUrl=self._mapping.queue_url, AttributeNames=["All"])

    def _receive(self) -> Messages:
        answer = self._sqs.receive_message(
            QueueUrl=self._mapping.queue_url,
            MaxNumberOfMessages=min(self._mapping.batch_size, 10),
            WaitTimeSeconds=POLL_SECONDS,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        messages: Messages = answer.get("Messages", [])
        return messages

    def _run(self, messages: Messages) -> None:
        try:
            result = self._invoker.invoke(self._mapping.function, _event(messages, self._mapping.queue_arn))
            ids = [message["MessageId"] for message in messages]
            failed = failed_ids(result, ids, partial_failures=self._mapping.partial_failures)
            for message in messages:
                if message["MessageId"] not in failed:
                    self._delete(message)
        except Exception as error:  # noqa: BLE001 - reported; the messages return after their visibility time-out
            self._report(error)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _delete(self, message: Mapping[str, Any]) -> None:
        """Delete a message. An expired handle means that it was received again; report that."""
        try:
            self._sqs.delete_message(QueueUrl=self._mapping.queue_url, ReceiptHandle=message["ReceiptHandle"])
        except ClientError as error:
            self._report(error)

    def _return(self, messages: Messages) -> None:
        """Make messages visible again, with the rights of the account: Lambda makes no such call, so no role allows it."""
        sqs = self._engine.client("sqs")
        for message in messages:
            with suppress(ClientError, BotoCoreError):  # the engine may be stopping as well
                sqs.change_message_visibility(
                    QueueUrl=self._mapping.queue_url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
                )

    def _report(self, error: Exception) -> None:
        self._on_error(explained(error, self._mapping.function))


def _event(messages: Sequence[Mapping[str, Any]], queue_arn: str) -> dict[str, Any]:
    """The Lambda event of one batch of messages from ReceiveMessage."""
    return {"Records": [_record(message, queue_arn) for message in messages]}


def _record(message: Mapping[str, Any], queue_arn: str) -> dict[str, Any]:
    record = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {name: _attribute(value) for name, value in message.get("MessageAttributes", {}).items()},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": queue_arn.split(":")[3],
    }
    if "MD5OfMessageAttributes" in message:
        record["md5OfMessageAttributes"] = message["MD5OfMessageAttributes"]
    return record


def _attribute(value: Mapping[str, Any]) -> dict[str, Any]:
    attribute: dict[str, Any] = {"stringListValues": [], "binaryListValues": [], "dataType": value["DataType"]}
    if "StringValue" in value:
        attribute["stringValue"] = value["StringValue"]
    if "BinaryValue" in value:
        attribute["binaryValue"] = base64.b64encode(value["BinaryValue"]).decode()
    return attribute
