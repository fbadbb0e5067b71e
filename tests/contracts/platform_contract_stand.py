"""What the contract of platforms stands on: the simulator, an adapter that talks to it, and an ear for its webhooks."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any

from local.chats.simulator import Simulator
from local.chats.simulator.world import Platform as Name
from shared.domain.routes import Place
from shared.platforms import PLATFORMS
from shared.platforms.registry import PlatformRegistry
from shared.ports.platforms import Platform
from shared.settings import Settings

_ANY = {secret: "1:any" for spec in PLATFORMS for secret in spec.secrets}
Event = tuple[dict[str, str], bytes]


@dataclass
class HeldPlatformSecrets:
    """Secrets in memory."""

    values: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str | None:
        return self.values.get(name)


@dataclass(frozen=True)
class Stand:
    """One simulated world, and one adapter in it."""

    simulator: Simulator
    settings: Settings
    secrets: HeldPlatformSecrets
    platform: Platform
    events: "Queue[Event]"

    @property
    def name(self) -> Name:
        return self.platform.name  # type: ignore[return-value]  # each adapter is named for a platform of the simulator

    def hear(self) -> Event:
        """The next event that the platform posts to our webhook."""
        return self.events.get(timeout=20)

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
    with _ear() as (url, events), Simulator(webhook_url=url, retry_scale=0.0) as simulator:
        settings = Settings(
            handoffs_table="handoffs",
            sessions_table="sessions",
            turns_queue_url="queue",
            platform_urls={
                name: {"api": getattr(simulator, f"{name}_api_url"), "link": simulator.link_url(name)}  # type: ignore[arg-type]
            },
        )
        secrets = HeldPlatformSecrets(secrets_of(simulator))
        platform = PlatformRegistry(settings, secrets).get(name)
        yield Stand(simulator, settings, secrets, platform, events)
        if close := getattr(platform, "close", None):
            close()


@cache
def unconnected(name: str) -> Platform:
    """An adapter for what needs no connection; its API is nowhere."""
    settings = Settings("handoffs", "sessions", "queue")
    return PlatformRegistry(settings, HeldPlatformSecrets(_ANY)).get(name)


def secrets_of(simulator: Simulator) -> dict[str, str]:
    given = simulator.credentials
    return {
        "telegram/bot_token": given.telegram_token,
        "telegram/webhook_secret": given.telegram_webhook_secret,
        "slack/bot_token": given.slack_bot_token,
        "slack/signing_secret": given.slack_signing_secret,
        "discord/bot_token": given.discord_bot_token,
        "discord/public_key": given.discord_public_key,
        "discord/relay_secret": given.discord_relay_secret,
    }


@contextmanager
def _ear() -> "Iterator[tuple[str, Queue[Event]]]":
    events: Queue[Event] = Queue()

    class Ear(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            events.put((_lowered(dict(self.headers.items())), raw))
            with suppress(OSError):  # the test may be over, and the simulator gone
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            """Nothing: the tests say what they heard."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Ear)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", events
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
