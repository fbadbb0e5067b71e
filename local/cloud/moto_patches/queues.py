"""Sending to SQS queues, deduplication, and receipt handles.

moto forgets a deduplication id when its message is deleted, draws sequence numbers at random, accepts expired receipt
handles for deleting and changing the visibility, and calls event source mappings synchronously from the send.
"""

# ruff: noqa: SLF001 - patches the internals of moto

import itertools
from typing import Any

from moto.core.utils import unix_time_millis
from moto.sqs import models as moto_queues
from moto.sqs.exceptions import InvalidParameterValue, ReceiptHandleIsInvalid, SQSException
from moto.sqs.models import Message, Queue, SQSBackend

from local.cloud.moto_patches.receiving import in_flight

DEDUPLICATION_MS = 5 * 60 * 1000
LONGEST_INVISIBLE_MS = 12 * 60 * 60 * 1000
SEQUENCE = itertools.count(18_850_000_000_000_000_000)  # the size of AWS's sequence numbers

BASE_URLS: dict[str, str] = {}  # by account; moto's queue URLs name amazonaws.com


class MessageNotInflight(SQSException):  # type: ignore[misc] # moto has no types
    code = "MessageNotInflight"
    message = "The message is not in flight: it became visible again, or was deleted."


def add_message(self: Queue, message: Message) -> None:
    """Append the message. A duplicate within five minutes is dropped and gets the id of the first."""
    with self._messages_lock:
        if self.fifo_queue:
            first = _first_with_same_id(self, message)
            if first is not None:
                message.id, message.sequence_number = first.id, first.sequence_number
                return
            message.sequence_number = f"{next(SEQUENCE):020d}"
        self._messages.append(message)
        self._messages_lock.notify_all()


def _first_with_same_id(queue: Queue, message: Message) -> Message | None:
    seen: dict[tuple[str | None, str], Message] = queue.__dict__.setdefault("deduplicated", {})
    for key in [key for key, m in seen.items() if message.sent_timestamp - m.sent_timestamp >= DEDUPLICATION_MS]:
        del seen[key]
    group = message.group_id if queue.deduplication_scope == "messageGroup" else None
    first = seen.setdefault((group, message.deduplication_id), message)
    return None if first is message else first


def delete_message(self: Queue, receipt_handle: str) -> None:
    """Delete a message. Deleting twice succeeds; a FIFO queue rejects an expired handle."""
    with self._messages_lock:
        deleted: dict[str, None] = self.__dict__.setdefault("deleted_handles", {})
        if receipt_handle in deleted:
            return
        message = _find(self, receipt_handle)
        if self.fifo_queue and (message.receipt_handle != receipt_handle or not in_flight(message)):
            raise InvalidParameterValue(
                f"Value {receipt_handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
            )
        self._messages.remove(message)
        deleted.update(dict.fromkeys(handle for handle in message.all_receipt_handles if handle))
        while len(deleted) > 10_000:
            del deleted[next(iter(deleted))]
        self._messages_lock.notify_all()  # receivers may take the next message of its group


def _find(queue: Queue, receipt_handle: str) -> Message:
    for message in queue._messages:
        if message.had_receipt_handle(receipt_handle):
            return message
    raise ReceiptHandleIsInvalid


def change_message_visibility(self: SQSBackend, queue_name: str, receipt_handle: str, visibility_timeout: int) -> None:
    queue = self.get_queue(queue_name)
    with queue._messages_lock:
        message = _find(queue, receipt_handle)
        if message.receipt_handle != receipt_handle or not in_flight(message):
            raise MessageNotInflight
        if unix_time_millis() + int(visibility_timeout) * 1000 - message.received_at > LONGEST_INVISIBLE_MS:
            raise InvalidParameterValue(
                f"Value {visibility_timeout} for parameter VisibilityTimeout is invalid. Reason: Total "
                "VisibilityTimeout for the message is beyond the limit [43200 seconds]"
            )
        message.visible_at = unix_time_millis() + int(visibility_timeout) * 1000 - (1 if not visibility_timeout else 0)
        queue._messages_lock.notify_all()


def release(account_id: str) -> None:
    """Delete the account's queues and wake the receivers that wait for messages."""
    for backend in moto_queues.sqs_backends[account_id].values():
        queues, backend.queues = list(backend.queues.values()), {}
        for queue in queues:
            with queue._messages_lock:
                queue._messages_lock.notify_all()


def _physical_resource_id(self: Queue) -> str:
    return f"{BASE_URLS[self.account_id]}/{self.account_id}/{self.name}"


def _name_fifo_queues() -> None:
    """Append .fifo to generated names of FIFO queues, as CloudFormation does; moto's rejects the name it generated."""
    original = Queue.create_from_cloudformation_json.__func__

    def create_from_cloudformation_json(cls: type, name: str, resource: Any, *args: Any, **kwargs: Any) -> Queue:
        is_fifo = str(resource["Properties"].get("FifoQueue")).lower() == "true"
        suffix = ".fifo" if is_fifo and not name.endswith(".fifo") else ""
        return original(cls, name + suffix, resource, *args, **kwargs)

    Queue.create_from_cloudformation_json = classmethod(create_from_cloudformation_json)


def apply() -> None:
    _name_fifo_queues()
    Queue.physical_resource_id = property(_physical_resource_id)
    Queue.add_message = add_message
    Queue.delete_message = delete_message
    SQSBackend.change_message_visibility = change_message_visibility
