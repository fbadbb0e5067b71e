"""The relay of Telegram in the tests of all relays."""

from collections.abc import Callable
from typing import Any

from local.chats.relays.base import Relay
from local.chats.relays.webhook import Backoff
from local.chats.simulator import Simulator
from local.chats.telegram.relay import TelegramRelay


def relay(simulator: Simulator, url: str, *, token: str, pauses: Callable[[], Backoff], **more: Any) -> Relay:
    return TelegramRelay(
        url,
        token=token or simulator.secrets["telegram/bot_token"],
        secret=simulator.secrets["telegram/webhook_secret"],
        api_url=simulator.api_url("telegram"),
        poll_seconds=5,
        pauses=pauses,
        **more,
    )


def text(event: Any) -> str:
    """What a person wrote in a forwarded event."""
    return str(event["message"]["text"])
