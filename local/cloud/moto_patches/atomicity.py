"""Serializes all DynamoDB and Streams actions with one lock.

moto checks a condition and writes without a lock: of many threads with the same conditional write, several succeed.
"""

import functools
import threading
from collections.abc import Callable
from typing import Any

from moto.dynamodb.responses import DynamoHandler
from moto.dynamodbstreams.responses import DynamoDBStreamsHandler

LOCK = threading.RLock()


def apply() -> None:
    for handler in (DynamoHandler, DynamoDBStreamsHandler):
        handler.call_action = _serialized(handler.call_action)


def _serialized(action: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(action)
    def one_at_a_time(*args: Any, **kwargs: Any) -> Any:
        with LOCK:
            return action(*args, **kwargs)

    return one_at_a_time
