"""One adapter, the simulator that it calls, and a receiver of the simulator's webhooks."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from local.chats.simulator import Simulator
from local.chats.spec import LocalChat
from shared.domain.routes import Place
from shared.platforms.registry import PlatformRegistry
from shared.ports.inbound import Inbound, Pressed, WebhookRequest
from shared.ports.platforms import Platform
from shared.settings import Settings
from tests.support.secrets import FakeSecrets
from tests.support.webhook_receiver import WebhookReceiver
from tests.support.webhooks import done_in, message_in, press_in

MESSAGE = "go on, please"


@dataclass(frozen=True)
class PlatformHarness:
    """What a contract test sees of one platform: the adapter on one side, the simulated chats on the other."""

    chat: LocalChat
    simulator: Simulator
    secrets: FakeSecrets
    platform: Platform
    receiver: WebhookReceiver

    @property
    def name(self) -> str:
        return self.chat.name

    @property
    def webhook_url(self) -> str:
        return f"{self.receiver.url}/webhooks/{self.name}"

    def arm(self, kind: str, **more: Any) -> None:
        """Let the next calls of the adapter fail."""
        self.simulator.arm(self.name, kind, **more)

    def posted(self, home: Place, place: Place) -> list[dict[str, Any]]:
        """The bot's messages at a place in this home."""
        chat = self._chat(home)
        where = chat if place == home else next((t for t in chat["threads"] if t["id"] == _thread_id(place)), None)
        return [m for m in (where or {"messages": []})["messages"] if m["from"] == "bot"]

    def thread_titles(self, home: Place) -> list[str]:
        return [thread["title"] for thread in self._chat(home)["threads"]]

    def outside_threads(self, home: Place) -> list[str]:
        """The texts in the home itself."""
        return [message["text"] for message in self._chat(home)["messages"]]

    def write(self, home: Place, place: Place) -> None:
        """A person writes MESSAGE, in the form in which the platform posts it to the webhook."""
        text = self.chat.webhook_text.format(text=MESSAGE)
        self.simulator.say(self.name, home.chat, text, thread=None if place == home else _thread_id(place))

    def next_message(self) -> Inbound:
        """The next message that the platform posts; nothing else than messages of people counts."""
        while True:
            request = self._next_request()
            assert self.platform.verify(request, now=now())
            parsed = self.platform.parse(request)
            if done_in(parsed):
                return message_in(parsed)
            assert parsed.ignored or parsed.events

    def press(self, home: Place, place: Place, message: str, button: str, *, user: str = "owner") -> None:
        """A person presses a button."""
        thread = None if place == home else _thread_id(place)
        self.simulator.press(self.name, home.chat, message, button, thread=thread, user=user)

    def next_press(self) -> Pressed:
        """The next press that the platform posts; nothing else than messages of people counts."""
        return press_in(self.platform.parse(self.press_request()))

    def press_request(self) -> WebhookRequest:
        """The webhook of the next press."""
        while True:
            request = self._next_request()
            assert self.platform.verify(request, now=now())
            parsed = self.platform.parse(request)
            if done_in(parsed):
                return request
            assert parsed.ignored or parsed.events

    def people_at(self, home: Place) -> list[str]:
        """The people of a home, by their keys."""
        (chat,) = [chat for chat in self.chat.chats if chat.id == home.chat]
        return list(chat.people)

    def acknowledged(self, home: Place, place: Place, message: str) -> list[dict[str, str]]:
        """The answers to presses of a message's buttons: `to` whom, and the `text`."""
        (found,) = [posted for posted in self.posted(home, place) if posted["id"] == message]
        answers: list[dict[str, str]] = found.get("acknowledged", [])
        return answers

    def write_and_receive(self, home: Place, place: Place) -> WebhookRequest:
        """The webhook of a message that a person wrote."""
        self.write(home, place)
        while True:
            request = self._next_request()
            if done_in(self.platform.parse(request)):
                return request

    def _next_request(self) -> WebhookRequest:
        request = self.receiver.next()
        rest = request.path.removeprefix(f"/webhooks/{self.name}").removeprefix("/")
        return WebhookRequest(request.body, request.headers, request.method, rest, request.query)

    def _chat(self, home: Place) -> dict[str, Any]:
        chats = self.simulator.state()["platforms"][self.name]["chats"]
        found: dict[str, Any] = next(
            (chat for chat in chats if chat["id"] == home.chat), {"threads": [], "messages": []}
        )
        return found


@contextmanager
def platform_harness(chat: LocalChat) -> Iterator[PlatformHarness]:
    """The adapter of this platform, connected to a simulator that runs for one test."""
    with WebhookReceiver() as receiver, Simulator([chat], webhook_url=receiver.url, retry_scale=0.0) as simulator:
        urls = {chat.name: {"api": simulator.api_url(chat.name), "link": simulator.link_url(chat.name)}}
        settings = Settings("handoffs", "sessions", "queue", platform_urls=urls)
        secrets = FakeSecrets({name: simulator.secrets[name] for name in chat.service_secrets})
        platform = PlatformRegistry(settings, secrets, [chat.spec]).get(chat.name)
        yield PlatformHarness(chat, simulator, secrets, platform, receiver)
        if close := getattr(platform, "close", None):
            close()


def unconnected(chat: LocalChat) -> Platform:
    """An adapter for operations without network calls."""
    secrets = FakeSecrets(dict.fromkeys(chat.spec.secrets, "1:any"))
    return PlatformRegistry(Settings("handoffs", "sessions", "queue"), secrets, [chat.spec]).get(chat.name)


def now() -> int:
    return int(time.time() * 1000)


def _thread_id(place: Place) -> str:
    return place.thread or place.chat  # a thread on Discord is a channel
