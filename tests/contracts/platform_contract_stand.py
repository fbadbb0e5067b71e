"""What the contract of platforms stands on: the simulator, an adapter that talks to it, and an ear for its webhooks."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from local.chats.simulator import Simulator
from shared.domain.routes import Place
from shared.platforms import PLATFORMS
from shared.platforms.registry import PlatformRegistry
from shared.ports.inbound import WebhookRequest
from shared.ports.platforms import Platform
from shared.settings import Settings
from tests.support.secrets import FakeSecrets
from tests.support.webhook_receiver import WebhookReceiver

_ANY = {secret: "1:any" for spec in PLATFORMS for secret in spec.secrets}


@dataclass(frozen=True)
class Stand:
    """One simulated world, and one adapter in it."""

    simulator: Simulator
    settings: Settings
    secrets: FakeSecrets
    platform: Platform
    receiver: WebhookReceiver

    @property
    def name(self) -> str:
        return self.platform.name

    def hear(self) -> WebhookRequest:
        """The next event that the platform posts to our webhook."""
        request = self.receiver.next()
        _, _, rest = request.path.removeprefix("/webhooks/").partition("/")
        return WebhookRequest(request.body, request.headers, request.method, rest, request.query)

    def posted(self, home: Place, place: Place) -> list[dict[str, Any]]:
        """What the bot has posted at a place of this home."""
        chat = self._chat(home)
        where = chat if place == home else next((t for t in chat["threads"] if t["id"] == _thread_id(place)), None)
        return [m for m in (where or {"messages": []})["messages"] if m["from"] == "bot"]

    def titles(self, home: Place) -> list[str]:
        return [thread["title"] for thread in self._chat(home)["threads"]]

    def in_the_open(self, home: Place) -> list[str]:
        """The texts in the home itself, outside its threads."""
        return [message["text"] for message in self._chat(home)["messages"]]

    def say(self, home: Place, place: Place, text: str) -> str:
        return self.simulator.say(self.name, home.chat, text, thread=None if place == home else _thread_id(place))

    def _chat(self, home: Place) -> dict[str, Any]:
        chats = self.simulator.state()["platforms"][self.name]["chats"]
        found: dict[str, Any] = next(
            (chat for chat in chats if chat["id"] == home.chat), {"threads": [], "messages": []}
        )
        return found


def _thread_id(place: Place) -> str:
    return place.thread or place.chat  # a thread on Discord is a channel of its own


def now() -> int:
    return int(time.time() * 1000)


@contextmanager
def stand(name: str) -> Iterator[Stand]:
    with WebhookReceiver() as receiver, Simulator(webhook_url=receiver.url, retry_scale=0.0) as simulator:
        settings = Settings(
            handoffs_table="handoffs",
            sessions_table="sessions",
            turns_queue_url="queue",
            platform_urls={name: {"api": simulator.api_url(name), "link": simulator.link_url(name)}},
        )
        secrets = FakeSecrets(simulator.secrets)
        platform = PlatformRegistry(settings, secrets).get(name)
        yield Stand(simulator, settings, secrets, platform, receiver)
        if close := getattr(platform, "close", None):
            close()


@cache
def unconnected(name: str) -> Platform:
    """An adapter for what needs no connection; its API is nowhere."""
    settings = Settings("handoffs", "sessions", "queue")
    return PlatformRegistry(settings, FakeSecrets(_ANY)).get(name)
