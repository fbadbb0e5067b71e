"""A queue as an event source: messages go to the function as they come, and are deleted when it has done them."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.cloud.invoke import Invoker
from local.cloud.sources.delivery import growing_pause
from local.cloud.sources.denial import explained
from local.cloud.sources.engine import Engine
from local.cloud.sources.partial import failed_ids
from local.cloud.sources.queue_event import queue_event
from local.cloud.stack import FunctionConfig, QueueMapping

LOG = logging.getLogger(__name__)
POLL_SECONDS = 2  # a long poll: a message ends it at once
MOST_AT_ONCE = 100

Messages = Sequence[Mapping[str, Any]]


class QueueSource:
    """Polls from `start` to `stop`. Order and visibility are the queue's: it gives out one batch of a group at a time,
    hides it for its visibility time-out, and redrives it. What failed is simply not deleted. It calls with the role of
    the mapped function, as Lambda does. `on_error` hears what kept the source itself from its work; it goes on by itself.
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
        self._on_error = on_error or _log
        self._limit = mapping.max_concurrency or MOST_AT_ONCE
        self._running = 0
        self._changed = threading.Condition()
        self._stopped = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._poll, name=f"queue {self._mapping.queue_url}", daemon=True).start()

    def stop(self, patience: float = 1.0) -> None:
        """Takes no more messages, and waits a while for those in flight."""
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
            except Exception as error:  # noqa: BLE001 - a poller that ends would be a queue that stands still
                failures += 1
                if not self._stopped.wait(growing_pause(failures)):
                    self._tell(error)
                continue
            if messages and self._stopped.is_set():
                self._give_back(messages)
            elif messages:
                with self._changed:
                    self._running += 1
                threading.Thread(target=self._run, args=(messages,), name="queue batch", daemon=True).start()

    def _wait_for_room(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._running < self._limit or self._stopped.is_set())
        return not self._stopped.is_set()

    def _open(self) -> None:
        """As Lambda does when the mapping is made: it wants to know the queue."""
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
            result = self._invoker.invoke(self._mapping.function, queue_event(messages, self._mapping.queue_arn))
            ids = [message["MessageId"] for message in messages]
            failed = failed_ids(result, ids, partial_failures=self._mapping.partial_failures)
            for message in messages:
                if message["MessageId"] not in failed:
                    self._delete(message)
        except Exception as error:  # noqa: BLE001 - it is told; the messages come back after their visibility time-out
            self._tell(error)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _delete(self, message: Mapping[str, Any]) -> None:
        """A handle that expired means that the message is somebody else's by now."""
        try:
            self._sqs.delete_message(QueueUrl=self._mapping.queue_url, ReceiptHandle=message["ReceiptHandle"])
        except ClientError as error:
            self._tell(error)

    def _give_back(self, messages: Messages) -> None:
        """With the rights of the account: Lambda never ends in the middle of a poll, so no role allows for this."""
        sqs = self._engine.client("sqs")
        for message in messages:
            with suppress(ClientError, BotoCoreError):  # the engine may be stopping as well
                sqs.change_message_visibility(
                    QueueUrl=self._mapping.queue_url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
                )

    def _tell(self, error: Exception) -> None:
        self._on_error(explained(error, self._mapping.function))


def _log(error: Exception) -> None:
    LOG.error("The queue source goes on after an error", exc_info=error)
