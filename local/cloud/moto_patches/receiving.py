"""Taking messages from SQS queues: groups in order, one batch of a group in flight, dead letters, long polls.

After a batch's visibility ran out, moto returns only its last message; while a group is blocked, its long poll
spins at full speed; expired messages stay.
"""

# ruff: noqa: SLF001 - the shim's business is the inside of another program

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
    """Take up to `count` messages; waits for the first one without asking again and again."""
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
        if _is_dead(queue, message):
            _bury(queue, message)
            continue
        message.mark_received(visibility_timeout=visibility_timeout)
        message.received_at = unix_time_millis()
        taken.append(copy.deepcopy(message))
    return taken


def in_flight(message: Message) -> bool:
    return message.receipt_handle is not None and not message.visible


def _next_change(queue: Queue) -> float:
    """When the next message will become visible by itself."""
    now = unix_time_millis()
    times = (max(m.visible_at, m.delayed_until) for m in queue._messages)
    return min((time + 1 for time in times if time >= now), default=math.inf)


def _drop_expired(queue: Queue) -> None:
    oldest = unix_time_millis() - queue.message_retention_period * 1000
    queue._messages = [m for m in queue._messages if m.sent_timestamp > oldest]


def _is_dead(queue: Queue, message: Message) -> bool:
    if queue.dead_letter_queue is None or not queue.redrive_policy:
        return False
    return bool(message.approximate_receive_count >= queue.redrive_policy["maxReceiveCount"])


def _bury(queue: Queue, message: Message) -> None:
    """Move to the dead-letter queue, past its deduplication: the id stays, and may well be there already."""
    queue._messages.remove(message)
    grave = queue.dead_letter_queue
    with grave._messages_lock:
        grave._messages.append(message)
        grave._messages_lock.notify_all()


def apply() -> None:
    SQSBackend.receive_message = receive_message
