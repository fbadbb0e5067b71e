"""The relay of each platform, from a simulator to a webhook, with short pauses.

Each has `relay` and `text` in tests/local/chats/<name>/relaying.py.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from local.chats import CHATS as ALL_CHATS
from local.chats.relays.base import Relay
from local.chats.relays.webhook import Backoff
from local.chats.simulator import Simulator
from tests.support.servers import Request

Relaying = Callable[..., AbstractContextManager[Relay]]
CHATS: Mapping[str, str] = {chat.name: chat.homes["owner"] for chat in ALL_CHATS if chat.relay}


def relay_for(platform: str, simulator: Simulator, url: str, *, token: str = "", **more: Any) -> Relay:
    """A relay from the simulator to `url`, with the simulator's secrets."""
    pauses = partial(Backoff, 0.01, 0.05)
    relay: Relay = _relaying(platform).relay(simulator, url, token=token, pauses=pauses, **more)
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
    return [str(_relaying(one.path.removeprefix("/webhooks/")).text(one.json)) for one in posted]


def _relaying(platform: str) -> Any:
    return importlib.import_module(f"tests.local.chats.{platform}.relaying")
