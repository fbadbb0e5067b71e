"""One lock around every DynamoDB and Streams action.

moto checks a condition and writes in two steps without a lock: of many threads that claim one item, several win.
AWS decides item by item; deciding everything in one line is stricter than that and costs a laptop nothing.
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
        handler.call_action = _serialised(handler.call_action)


def _serialised(action: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(action)
    def one_at_a_time(*args: Any, **kwargs: Any) -> Any:
        with LOCK:
            return action(*args, **kwargs)

    return one_at_a_time
