"""Receiving from SQS queues: order of groups, dead letters, long polling.

When the visibility time-out of a batch ends, moto returns only its last message; while a group is in flight, its long
polling is a busy loop; messages are kept beyond the retention period.
"""

# ruff: noqa: SLF001 - patches the internals of moto

import copy
import math

from moto.core.utils import unix_time_millis
from moto.sqs import models as moto_queues
from moto.sqs.models import Message, Queue, SQSBackend


def receive_message(  # noqa: PLR0917 - moto's signature
    self: SQSBackend,
    queue_name: str,
    count: int,
    wait_seconds_timeout: int,
    visibility_timeout: int,
    message_attribute_names: list[str] | None = None,
) -> list[Message]:
    """Take up to `count` messages; wait for the first one without polling."""
    queue = self.get_queue(queue_name)
    until = unix_time_millis() + wait_seconds_timeout * 1000
    with queue._messages_lock:
        while True:
            taken = _take(queue, count, visibility_timeout)
            left = min(until, _next_change(queue)) - unix_time_millis()
            if taken or unix_time_millis() >= until or self.queues.get(queue_name) is not queue:
                break
            queue._messages_lock.wait(max(left, 1) / 1000)
    for message in taken:
        moto_queues._filter_message_attributes(message, message_attribute_names or [])
    return taken


def _take(queue: Queue, count: int, visibility_timeout: int) -> list[Message]:
    _drop_expired(queue)
    blocked = {m.group_id for m in queue._messages if in_flight(m)} if queue.fifo_queue else set()
    taken: list[Message] = []
    for message in list(queue._messages):
        if len(taken) == count:
            break
        if not message.visible or message.delayed or (queue.fifo_queue and message.group_id in blocked):
            continue
        if _exceeds_receives(queue, message):
            _move_to_dead_letters(queue, message)
            continue
        message.mark_received(visibility_timeout=visibility_timeout)
        message.received_at = unix_time_millis()
        taken.append(copy.deepcopy(message))
    return taken


def in_flight(message: Message) -> bool:
    return message.receipt_handle is not None and not message.visible


def _next_change(queue: Queue) -> float:
    """Return the time at which the next message becomes visible."""
    now = unix_time_millis()
    times = (max(m.visible_at, m.delayed_until) for m in queue._messages)
    return min((time + 1 for time in times if time >= now), default=math.inf)


def _drop_expired(queue: Queue) -> None:
    oldest = unix_time_millis() - queue.message_retention_period * 1000
    queue._messages = [m for m in queue._messages if m.sent_timestamp > oldest]


def _exceeds_receives(queue: Queue, message: Message) -> bool:
    if queue.dead_letter_queue is None or not queue.redrive_policy:
        return False
    return bool(message.approximate_receive_count >= queue.redrive_policy["maxReceiveCount"])


def _move_to_dead_letters(queue: Queue, message: Message) -> None:
    """Move a message without deduplication: another message with its id may be in the dead-letter queue."""
    queue._messages.remove(message)
    dead_letters = queue.dead_letter_queue
    with dead_letters._messages_lock:
        dead_letters._messages.append(message)
        dead_letters._messages_lock.notify_all()


def apply() -> None:
    SQSBackend.receive_message = receive_message
