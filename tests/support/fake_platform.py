"""A chat platform in memory that keeps the promises of its port, and breaks off where a test says so."""

# ruff: noqa: ARG002  # a fake takes what its port passes, and need not use it

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from shared.domain.routes import Place
from shared.errors import Ambiguous, PlatformNotConfigured
from shared.ports.inbound import Inbound, Invited, Parsed, WebhookRequest
from shared.ports.platforms import Capabilities, Part, Platform

T = TypeVar("T")
Idempotency = Literal["key", "readback", "both", "none"]


class FakePlatform(Platform):
    """A chat platform in memory. `next` holds what the next calls of an operation run into, before or after they act."""

    name = "chat"

    def __init__(self, idempotency: Idempotency) -> None:
        self.capabilities = Capabilities(
            threads=True, limit=1000, key=idempotency in ("key", "both"), readback=idempotency in ("readback", "both")
        )
        self.threads: dict[str, str] = {}
        self.posts: dict[Place, list[tuple[str, str]]] = defaultdict(list)
        self.next: dict[str, deque[Exception | Callable[[], None]]] = defaultdict(deque)
        self.accepts_before_failing = False
        self.asked: list[str] = []
        self.joined: list[Place] = []

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:
        return self._do("open_thread", lambda: self._open(home, title, key))

    def find_thread(self, home: Place, *, key: str) -> Place | None:
        self.asked.append("find_thread")
        found = [thread for thread, opened_by in self.threads.items() if opened_by == key]
        can_find = self.capabilities.key or self.capabilities.readback
        return Place("chat", home.chat, found[0]) if found and can_find else None

    def send(self, place: Place, part: Part, *, key: str) -> str:
        return self._do("send", lambda: self._post(place, part, key))

    def find_message(self, place: Place, *, key: str) -> str | None:
        self.asked.append("find_message")
        is_readable = self.capabilities.readback
        return next((sent for sent, _ in self.posts[place] if sent == key), None) if is_readable else None

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        self._do("edit", lambda: self._rewrite(place, message_id, part))

    def typing(self, place: Place) -> None:
        return

    def render(self, markdown: str) -> list[Part]:
        return [Part(markdown[start : start + 900]) for start in range(0, len(markdown), 900)]

    def link(self, place: Place) -> str:
        return f"https://chat.test/{place.chat}/{place.thread}"

    def verify(self, request: WebhookRequest, *, now: int) -> bool:
        return request.headers.get("signature") == "good"

    def parse(self, request: WebhookRequest) -> Parsed:
        """One message (`id|thread|text`) or invitation (`invited||sender`) per line."""
        return Parsed(tuple(_event(line) for line in request.body.decode().splitlines()))

    def join(self, place: Place) -> None:
        self._do("join", lambda: self.joined.append(place))

    def check_home(self, home: Place) -> Place:
        return self._do("check_home", lambda: home)

    def diagnose(self, home: Place | None, *, webhook_url: str, now: int, seconds: float) -> Sequence[Any]:
        return ()

    def said(self, place: Place) -> list[str]:
        return [text for _, text in self.posts[place]]

    def _do(self, operation: str, act: Callable[[], T]) -> T:
        self.asked.append(operation)
        trouble = self.next[operation].popleft() if self.next[operation] else None
        if isinstance(trouble, Exception):
            if isinstance(trouble, Ambiguous) and self.accepts_before_failing:
                act()
            raise trouble
        if trouble is not None:
            trouble()
        return act()

    def _open(self, home: Place, title: str, key: str) -> Place:
        thread = f"t{len(self.threads) + 1}"
        self.threads[thread] = key
        return Place("chat", home.chat, thread)

    def _rewrite(self, place: Place, message_id: str, part: Part) -> None:
        posts = self.posts[place]
        at = max(number for number, (sent, _) in enumerate(posts) if sent == message_id)
        posts[at] = (message_id, part.text)

    def _post(self, place: Place, part: Part, key: str) -> str:
        is_repeat = self.capabilities.key and key in dict(self.posts[place])
        if not is_repeat:
            self.posts[place].append((key, part.text))
        return key


class FakePlatforms:
    """Only `chat` is there."""

    def __init__(self, platform: FakePlatform) -> None:
        self._platform = platform

    def get(self, name: str) -> FakePlatform:
        if name != "chat":
            raise PlatformNotConfigured(name)
        return self._platform

    def known(self) -> Mapping[str, bool]:
        return {"chat": True}

    def is_configured(self, name: str) -> bool:
        return name == "chat"

    def lacks(self, name: str) -> Sequence[str]:
        return ()

    def has_threads(self, name: str) -> bool:
        return name == "chat"

    def body_limit(self, name: str) -> int:
        return 1024 * 1024


def _event(line: str) -> Inbound | Invited:
    event_id, thread, text = line.split("|")
    place = Place("chat", "home", thread or None)
    return Invited(place, text) if event_id == "invited" else Inbound(event_id, place, "ada-there", text)
