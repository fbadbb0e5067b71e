"""The bridge from Lambda's HTTP API events to ASGI."""

from collections.abc import Callable
from functools import cache
from typing import Any

from mangum import Mangum
from mangum.types import ASGI


def lambda_handler(app: ASGI) -> Callable[[Any, Any], Any]:
    """A Lambda handler that gives each event to the app."""

    @cache
    def adapter() -> Mangum:
        """Made by the first event: it opens an event loop, which processes forked from a loaded one must not share."""
        return Mangum(app, lifespan="off")

    def handle(event: Any, context: Any) -> Any:
        return adapter()(event, context)

    return handle
