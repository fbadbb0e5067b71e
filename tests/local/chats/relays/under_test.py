"""The relay of each platform, from a simulator to a webhook, with short pauses."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from local.chats import CHATS as ALL_CHATS
from local.chats.relays.base import Relay, Target
from local.chats.relays.webhook import Backoff
from local.chats.simulator import Simulator
from local.chats.spec import load
from tests.support.servers import Request

Relaying = Callable[..., AbstractContextManager[Relay]]
CHATS: Mapping[str, str] = {chat.name: chat.homes["owner"] for chat in ALL_CHATS if chat.relay}
FACTORIES = {chat.name: chat.relay.factory for chat in ALL_CHATS if chat.relay}
TOKENS = {"slack": "slack/app_token", "signal": "signal/account"}
FAST: Mapping[str, Mapping[str, Any]] = {
    "matrix": {"poll_seconds": 5},
    "telegram": {"poll_seconds": 5},
    "slack": {"ping_seconds": 0.2},
}
TEXTS: Mapping[str, Callable[[Any], str]] = {
    "discord": lambda event: event["d"]["content"],
    "matrix": lambda event: event["events"][0]["content"]["body"],
    "signal": lambda event: event["envelope"]["dataMessage"]["message"],
    "slack": lambda event: event["event"]["text"],
    "telegram": lambda event: event["message"]["text"],
}


def relay_for(platform: str, simulator: Simulator, url: str, *, token: str = "", **options: Any) -> Relay:
    """A relay from the simulator to `url`, with the simulator's secrets."""
    secrets = dict(simulator.secrets)
    if token:
        secrets[TOKENS.get(platform, f"{platform}/bot_token")] = token
    if platform == "signal":
        options.setdefault(
            "spool", Path(tempfile.gettempdir()) / f"signal-{secrets['signal/relay_secret'][:16]}.events"
        )
    target = Target(url, simulator.api_url(platform), secrets, {**simulator.relay_options(platform), **options})
    relay: Relay = load(FACTORIES[platform])(target, pauses=partial(Backoff, 0.01, 0.05), **FAST.get(platform, {}))
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
    return [str(TEXTS[one.path.removeprefix("/webhooks/")](one.json)) for one in posted]
