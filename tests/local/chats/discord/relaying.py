"""The relay of Discord in the tests of all relays."""

from collections.abc import Callable
from typing import Any

from local.chats.discord.relay import DiscordRelay
from local.chats.relays.base import Relay
from local.chats.relays.webhook import Backoff
from local.chats.simulator import Simulator


def relay(simulator: Simulator, url: str, *, token: str, pauses: Callable[[], Backoff], **more: Any) -> Relay:
    return DiscordRelay(
        url,
        token=token or simulator.secrets["discord/bot_token"],
        secret=simulator.secrets["discord/relay_secret"],
        api_url=simulator.api_url("discord"),
        gateway_url=simulator.relay_options("discord")["gateway_url"],
        pauses=pauses,
        **more,
    )


def text(event: Any) -> str:
    """What a person wrote in a forwarded event."""
    return str(event["d"]["content"])
