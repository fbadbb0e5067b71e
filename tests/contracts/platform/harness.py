"""One adapter, the simulator that it calls, and a receiver of the simulator's webhooks."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from local.chats.relays.configuration import make_relay
from local.chats.simulator import Simulator
from local.chats.spec import LocalChat
from shared.domain.routes import Place
from shared.platforms.registry import PlatformRegistry
from shared.ports.inbound import Announced, Answer, Inbound, Parsed, Pressed, WebhookRequest
from shared.ports.platforms import Platform
from shared.settings import Settings
from tests.support.secrets import FakeSecrets
from tests.support.servers import Request, Response
from tests.support.webhook_receiver import WebhookReceiver
from tests.support.webhooks import done_in, message_in, press_in

MESSAGE = "go on, please"


@dataclass(frozen=True)
class PlatformHarness:
    """One platform in a contract test: the adapter on one side, the simulated chats on the other."""

    chat: LocalChat
    simulator: Simulator
    secrets: FakeSecrets
    platform: Platform
    receiver: WebhookReceiver
    ending: ExitStack

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

    def starts_with_a_message(self, home: Place, place: Place) -> bool:
        """Whether a message of the home is the start of this thread, and so a person can copy it."""
        chat = self._chat(home)
        return len(self.people_at(home)) > 1 and _thread_id(place) in [m["id"] for m in chat["messages"]]

    def outside_threads(self, home: Place) -> list[str]:
        """The texts in the home itself."""
        return [message["text"] for message in self._chat(home)["messages"]]

    def write(self, home: Place, place: Place, text: str = MESSAGE, **beside: Any) -> None:
        """A person writes a text, in the form in which the platform posts it to the webhook, or one with more beside it."""
        shown = text if beside else self.chat.webhook_text.format(text=text)
        thread = None if place == home else _thread_id(place)
        self.simulator.say(self.name, home.chat, shown, thread=thread, **beside)

    def listen(self) -> None:
        """Run the relay of a platform that posts only a part of what people write. It ends with the test."""
        if self.chat.relay is None or not self.chat.relay.in_simulation:
            return
        relay = make_relay(
            self.chat,
            self.receiver.url,
            self.simulator.secrets,
            api_url=self.simulator.api_url(self.name),
            options=self.simulator.relay_options(self.name),
        )
        self.ending.callback(relay.stop)
        relay.start()
        assert relay.connected.wait(30)

    def next_message(self) -> Inbound:
        """The next message that the platform posts or names; nothing else than messages of people counts."""
        return message_in(self._whole(self.platform.parse(self._next_done())))

    def press(self, home: Place, place: Place, message: str, button: str, *, user: str = "owner") -> None:
        """A person presses a button."""
        thread = None if place == home else _thread_id(place)
        self.simulator.press(self.name, home.chat, message, button, thread=thread, user=user)

    def next_press(self) -> Pressed:
        """The next press that the platform posts; nothing else than messages of people counts."""
        return press_in(self.platform.parse(self.press_request()))

    def press_request(self) -> WebhookRequest:
        """The webhook of the next press."""
        return self._next_done()

    def answer_press(self, home: Place, place: Place, message: str, button: str, text: str) -> None:
        """A person presses a button, and the press is acknowledged while the platform waits for the response."""

        def acknowledge(request: Request) -> Response:
            parsed = self.platform.parse(self._as_webhook(request))
            presses = [event for event in parsed.events if isinstance(event, Pressed)]
            answers = [self.platform.acknowledge(pressed, text) for pressed in presses]
            return _response(next(filter(None, answers), None) or parsed.answer)

        self.receiver.answer(acknowledge)
        self.press(home, place, message, button)

    def answer_handshakes(self) -> None:
        """Answer webhooks as the service does."""

        def answer(request: Request) -> Response:
            webhook = self._as_webhook(request)
            if not self.platform.verify(webhook, now=now()):
                return Response(401)
            return _response(self.platform.parse(webhook).answer)

        self.receiver.answer(answer)

    def is_notified(self, home: Place, place: Place, user: str) -> bool:
        """Whether this person was added to a thread, or is mentioned in it or in the message that it hangs on."""
        chat, person = self._chat(home), self.chat.people[user]
        threads = [thread for thread in chat["threads"] if thread["id"] == _thread_id(place)]
        texts = [message["text"] for where in (chat, *threads) for message in where["messages"]]
        return any(user in thread["members"] for thread in threads) or any(person in text for text in texts)

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
        return self._next_done()

    def _next_done(self) -> WebhookRequest:
        """The next webhook that tells what a person did."""
        while True:
            request = self._as_webhook(self.receiver.next())
            assert self.platform.verify(request, now=now())
            parsed = self.platform.parse(request)
            if done_in(parsed):
                return request
            assert parsed.ignored or parsed.events

    def _whole(self, parsed: Parsed) -> Parsed:
        """With the messages that a webhook only names."""
        fetched = [self.platform.fetch(event) if isinstance(event, Announced) else event for event in parsed.events]
        return replace(parsed, events=tuple(event for event in fetched if event is not None))

    def _as_webhook(self, request: Request) -> WebhookRequest:
        base = f"/webhooks/{self.name}"
        assert request.path == base or request.path.startswith(f"{base}/"), f"the service has no {request.path}"
        rest = request.path.removeprefix(base).removeprefix("/")
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
    with (
        WebhookReceiver() as receiver,
        Simulator([chat], webhook_url=receiver.url, retry_scale=0.0) as simulator,
        ExitStack() as ending,
    ):
        urls = {chat.name: {"api": simulator.api_url(chat.name), "link": simulator.link_url(chat.name)}}
        settings = Settings("handoffs", "sessions", "queue", platform_urls=urls, public_url=receiver.url)
        secrets = FakeSecrets({name: simulator.secrets[name] for name in chat.service_secrets})
        platform = PlatformRegistry(settings, secrets, [chat.spec]).get(chat.name)
        yield PlatformHarness(chat, simulator, secrets, platform, receiver, ending)
        if close := getattr(platform, "close", None):
            close()


def unconnected(chat: LocalChat, *, has_address: bool = True) -> Platform:
    """An adapter for operations without network calls, in a service that may have a public address."""
    secrets = FakeSecrets(dict.fromkeys(chat.spec.secrets, "1:any"))
    settings = Settings("handoffs", "sessions", "queue", public_url="https://service.test" if has_address else "")
    return PlatformRegistry(settings, secrets, [chat.spec]).get(chat.name)


def _response(answer: Answer | None) -> Response:
    given = answer or Answer({})
    return Response(given.status, (given.body if isinstance(given.body, str) else json.dumps(given.body)).encode())


def now() -> int:
    return int(time.time() * 1000)


def _thread_id(place: Place) -> str:
    return place.thread or place.chat  # a thread on Discord is a channel
