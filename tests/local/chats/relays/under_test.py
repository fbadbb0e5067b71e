"""The relay of each platform, from a simulator to a webhook, with short pauses.

A platform that is not named here has `relay` and `text` in tests/local/chats/<name>/relaying.py.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from local.chats import CHATS as ALL_CHATS
from local.chats.discord.relay import DiscordRelay
from local.chats.relays.base import Relay
from local.chats.relays.webhook import Backoff
from local.chats.simulator import Simulator
from local.chats.slack.relay import SlackRelay
from local.chats.telegram.relay import TelegramRelay
from tests.support.servers import Request

Relaying = Callable[..., AbstractContextManager[Relay]]
CHATS: Mapping[str, str] = {chat.name: chat.homes["owner"] for chat in ALL_CHATS if chat.relay}
_TEXTS: Mapping[str, Callable[[Any], str]] = {
    "telegram": lambda event: event["message"]["text"],
    "slack": lambda event: event["event"]["text"],
    "discord": lambda event: event["d"]["content"],
}


def relay_for(platform: str, simulator: Simulator, url: str, *, token: str = "", **more: Any) -> Relay:
    """A relay from the simulator to `url`, with the simulator's secrets."""
    own = simulator.secrets

    def short_pauses() -> Backoff:
        return Backoff(0.01, 0.05)

    match platform:
        case "telegram":
            return TelegramRelay(
                url,
                token=token or own["telegram/bot_token"],
                secret=own["telegram/webhook_secret"],
                api_url=simulator.api_url("telegram"),
                poll_seconds=5,
                pauses=short_pauses,
                **more,
            )
        case "slack":
            return SlackRelay(
                url,
                app_token=token or own["slack/app_token"],
                signing_secret=own["slack/signing_secret"],
                api_url=simulator.api_url("slack"),
                ping_seconds=0.2,
                pauses=short_pauses,
                **more,
            )
        case "discord":
            return DiscordRelay(
                url,
                token=token or own["discord/bot_token"],
                secret=own["discord/relay_secret"],
                api_url=simulator.api_url("discord"),
                gateway_url=simulator.relay_options("discord")["gateway_url"],
                pauses=short_pauses,
                **more,
            )
    relay: Relay = _relaying(platform).relay(simulator, url, token=token, pauses=short_pauses, **more)
    return relay


@contextmanager
def running(relay: Relay) -> Iterator[Relay]:
    """Start the relay, and stop it at the end."""
    relay.start()
    try:
        yield relay
    finally:
        relay.stop()


def texts(posted: list[Request]) -> list[str]:
    """The texts of the messages in these events."""
    return [_text(one.path.removeprefix("/webhooks/"), one.json) for one in posted]


def _text(platform: str, event: Any) -> str:
    read = _TEXTS[platform] if platform in _TEXTS else _relaying(platform).text
    return str(read(event))


def _relaying(platform: str) -> Any:
    return importlib.import_module(f"tests.local.chats.{platform}.relaying")
