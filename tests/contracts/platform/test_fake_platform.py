"""The fake platform of the use case tests against the parts of the platform contract that need no network."""

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any, cast

import pytest

from local.chats.spec import ChatKind, LocalChat, SeededChat
from shared.domain.routes import Place
from shared.errors import Ambiguous, NotSent, PlatformError, RateLimited, Rejected
from shared.platforms.spec import PlatformSpec
from shared.ports.inbound import Pressed, WebhookRequest
from tests.contracts.platform.buttons import SomeButtons
from tests.contracts.platform.case import PlatformTests
from tests.contracts.platform.faults import Faults
from tests.contracts.platform.harness import PlatformHarness
from tests.contracts.platform.outbound import Outbound
from tests.contracts.platform.threads import Threads
from tests.support.fake_platform import FakePlatform, Idempotency
from tests.support.secrets import FakeSecrets

CHAT = LocalChat(
    PlatformSpec("chat", "Chat", threads=True),
    people={"owner": "ada-there", "stranger": "eve-there"},
    chats=(SeededChat("home", "Home", "group"),),
    homes={"owner": "home"},
    wire="",
    api_url="",
    title_limit=10_000,
    kinds={"group": ChatKind("group", "group")},
)
FAULTS: dict[str, type[PlatformError]] = {
    "reset": NotSent,
    "server_error": NotSent,
    "forbidden": Rejected,
    "accept_then_reset": Ambiguous,
}


class FakeSimulator:
    """The contract's calls of the simulator, done to the fake."""

    def __init__(self, platform: FakePlatform) -> None:
        self._platform = platform

    def remove(self, _: str, chat: str, thread: str | None = None) -> None:
        self._platform.gone.add(Place("chat", chat, thread))

    def stop(self) -> None:
        self._platform.next["send"].extend([NotSent("the platform is down")] * 9)

    def link_url(self, _: str, chat: str, thread: str | None = None) -> str:
        return self._platform.link(Place("chat", chat, thread))


class FakeHarness:
    """The interface of PlatformHarness over the fake."""

    name = "chat"

    def __init__(self, platform: FakePlatform) -> None:
        self.chat, self.platform = CHAT, platform
        self.secrets = FakeSecrets({"chat/token": "the token"})
        self.simulator = FakeSimulator(platform)
        self._presses: deque[str] = deque()
        self._numbers = itertools.count(1)

    def arm(self, kind: str, *, count: int = 1, seconds: float = 0, on: str = "send") -> None:
        error = RateLimited(seconds) if kind == "rate_limit" else FAULTS[kind](f"the platform answers with {kind}")
        self.platform.accepts_before_failing = kind == "accept_then_reset"
        self.platform.next[on].clear()
        self.platform.next[on].extend([error] * count)

    def posted(self, _: Place, place: Place) -> list[dict[str, Any]]:
        return [
            {"id": post.id, "text": post.text, "buttons": [{"id": b.id, "label": b.label} for b in post.buttons]}
            for post in self.platform.posts[place]
        ]

    def press(self, _: Place, place: Place, message: str, button: str, *, user: str = "owner") -> None:
        self._presses.append(f"pressed-{next(self._numbers):03}|{place.thread}|{button}|{message}|{CHAT.people[user]}")

    def next_press(self) -> Pressed:
        (event,) = self.platform.parse(WebhookRequest(self._presses.popleft().encode())).events
        assert isinstance(event, Pressed)
        return event

    def answer_press(self, home: Place, place: Place, message: str, button: str, text: str) -> None:
        self.press(home, place, message, button)
        self.platform.acknowledge(self.next_press(), text)

    def people_at(self, _: Place) -> list[str]:
        return list(CHAT.people)

    def acknowledged(self, *_: object) -> list[dict[str, str]]:
        people = {person: key for key, person in CHAT.people.items()}
        return [{"to": people[sender], "text": text} for sender, text in self.platform.acknowledged]

    def thread_titles(self, home: Place) -> list[str]:
        return [thread.title for place, thread in self.platform.threads.items() if place.home == home]

    def outside_threads(self, home: Place) -> list[str]:
        return self.platform.said(home)


class FakeCase(PlatformTests):
    """Runs a part of the contract on the fake, for every kind of idempotency."""

    chat = CHAT

    @pytest.fixture(params=["key", "readback", "both", "none"])
    def at(self, request: pytest.FixtureRequest) -> Iterator[PlatformHarness]:
        idempotency: Idempotency = request.param
        yield cast("PlatformHarness", FakeHarness(FakePlatform(idempotency)))  # noqa: PT022  # as in the base class


class TestFakeOutbound(FakeCase, Outbound):
    pass


class TestFakeButtons(FakeCase, SomeButtons):
    # The fake shows whatever it is given.
    test_a_long_label_is_cut = None  # type: ignore[assignment]


class TestFakeFaults(FakeCase, Faults):
    # The fake has neither connections nor a token, and only the bot's messages.
    test_a_key_that_another_person_has_copied_leads_to_no_message = None  # type: ignore[assignment]
    test_stale_connections_are_replaced = None  # type: ignore[assignment]
    test_a_wrong_token_is_final_and_not_in_the_error = None  # type: ignore[assignment]


class TestFakeThreads(FakeCase, Threads):
    test_a_key_that_another_person_has_copied_leads_to_no_thread = None  # type: ignore[assignment]
