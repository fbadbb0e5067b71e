"""The relay of Matrix in the tests of all relays."""

from collections.abc import Callable
from typing import Any

from local.chats.matrix.relay import MatrixRelay
from local.chats.relays.base import Relay
from local.chats.relays.webhook import Backoff
from local.chats.simulator import Simulator


def relay(simulator: Simulator, url: str, *, token: str, pauses: Callable[[], Backoff], **more: Any) -> Relay:
    return MatrixRelay(
        url,
        token=token or simulator.secrets["matrix/bot_token"],
        secret=simulator.secrets["matrix/webhook_secret"],
        api_url=simulator.api_url("matrix"),
        poll_seconds=5,
        pauses=pauses,
        **more,
    )


def text(event: Any) -> str:
    """What a person wrote in a forwarded event."""
    return str(event["events"][0]["content"]["body"])
