"""The bridge from Lambda's HTTP API events to ASGI."""

from collections.abc import Callable
from typing import Any

from mangum import Mangum
from mangum.types import ASGI


def lambda_handler(app: ASGI) -> Callable[[Any, Any], Any]:
    """A Lambda handler that gives each event to the app."""
    adapter = Mangum(app, lifespan="off")

    def handle(event: Any, context: Any) -> Any:
        return adapter(event, context)

    return handle
