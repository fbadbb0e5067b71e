"""A chat platform in memory that passes the platform contract, and fails where a test says so."""

# ruff: noqa: ARG002  # a fake takes what its port passes, and need not use it

import itertools
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from shared.domain.attachments import KINDS, counted
from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import Ambiguous, ForeignChat, PlaceGone, PlatformNotConfigured, Rejected, UnknownPlatform
from shared.platforms.markdown.clean import clean, neutralise
from shared.platforms.markdown.split import split
from shared.ports.inbound import (
    Announced,
    Answer,
    Event,
    Heard,
    Inbound,
    Invited,
    Parsed,
    Pressed,
    Receipt,
    WebhookRequest,
)
from shared.ports.platforms import Button, Capabilities, Part, Platform, ResolvedChat
from shared.use_cases.deliver import REPEAT_MARK

T = TypeVar("T")
LIMIT = 1000
FILE_LIMIT = 100_000
CAPTION_LIMIT = 200
Idempotency = Literal["key", "readback", "both", "none", "receipts"]


@dataclass(frozen=True)
class Thread:
    """A thread that the fake has opened."""

    title: str
    key: str


@dataclass
class Post:
    """One message that the fake has posted."""

    id: str
    key: str
    text: str
    buttons: tuple[Button, ...] = ()
    file: str = ""
    content: bytes = b""


class FakePlatform(Platform):
    """A chat platform in memory.

    `next` holds the errors or actions that the next calls of an operation meet. With `accepts_before_failing` an
    Ambiguous error is raised after the call took effect. `down` is what every other call meets. `gone` are chats and
    threads that were deleted, `private` the people of private chats, `announced` the lines (see `parse`) of messages that
    webhooks only name.
    """

    name = "chat"

    def __init__(self, idempotency: Idempotency) -> None:
        self.capabilities = Capabilities(
            threads=True,
            limit=LIMIT,
            key=idempotency in ("key", "both"),
            readback=idempotency in ("readback", "both"),
            receipts=idempotency == "receipts",
            edits=idempotency != "receipts",
            buttons=True,
            file_limit=FILE_LIMIT,
            picture_limit=FILE_LIMIT,
            caption_limit=CAPTION_LIMIT,
        )
        self.threads: dict[Place, Thread] = {}
        self.closed: list[Place] = []
        self.posts: dict[Place, list[Post]] = defaultdict(list)
        self.next: dict[str, deque[Exception | Callable[[], None]]] = defaultdict(deque)
        self.accepts_before_failing = False
        self.down: Exception | None = None
        self.asked: list[str] = []
        self.joined: list[Place] = []
        self.acknowledged: list[tuple[str, str]] = []  # who pressed, and what they were told
        self.press_answer: Answer | None = None
        self.gone: set[Place] = set()
        self.private: dict[str, str] = {}
        self.announced: dict[str, str] = {}
        self.files: dict[str, bytes] = {}  # by reference
        self._ids = itertools.count(1)

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:
        return self._do("open_thread", lambda: self._open(home, title, key))

    def find_thread(self, home: Place, *, key: str) -> Place | None:
        self.asked.append("find_thread")
        found = [place for place, thread in self.threads.items() if thread.key == key and place.home == home]
        return found[0] if found and (self.capabilities.key or self.capabilities.readback) else None

    def close_thread(self, place: Place) -> None:
        self._do("close_thread", lambda: self.closed.append(place))

    def send(self, place: Place, part: Part, *, key: str) -> str:
        return self._do("send", lambda: self._post(place, part, key))

    def send_file(self, place: Place, file: OutFile, caption: Part | None, *, key: str) -> str:
        content = b"".join(file.read())
        return self._do("send_file", lambda: self._post(place, caption or Part(""), key, file.name, content))

    def find_message(self, place: Place, *, key: str) -> str | None:
        self.asked.append("find_message")
        return self._posted(place, key) if self.capabilities.readback else None

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        self._do("edit", lambda: self._rewrite(place, message_id, part))

    def typing(self, place: Place) -> None:
        return

    def acknowledge(self, pressed: Pressed, text: str) -> Answer | None:
        self.acknowledged.append((pressed.sender, text))
        return self.press_answer

    def render(self, markdown: str) -> list[Part]:
        return [Part(text) for text in split(neutralise(clean(markdown)), LIMIT - len(REPEAT_MARK))]

    def link(self, place: Place) -> str:
        return f"https://chat.test/{place.chat}/{place.thread}"

    def verify(self, request: WebhookRequest, *, now: int) -> bool:
        return request.headers.get("signature") == "good"

    def parse(self, request: WebhookRequest) -> Parsed:
        """One event per line: a message (`id|thread|text`, or with `|sender`, or with `|sender|beside`: kinds of
        attachments, `forwarded`, `album-id` and
        `file:kind:reference`, separated by commas; in private if the id begins with `dm`), an invitation
        (`invited||sender`, or with `|addressee`), a press (`pressed-id|thread|button|message`, or with `|sender`), the name
        of a message (`announced||message|sender`), a receipt (`receipt|thread|key|message id`, or without id), or a sign of
        life (`heard||sender|ms`)."""
        return Parsed(tuple(_event(line) for line in request.body.decode().splitlines()))

    def fetch(self, announced: Announced) -> Event | None:
        line = self._do("fetch", lambda: self.announced.get(announced.message))
        return _event(line) if line else None

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        content = self._do("fetch_file", lambda: self.files.get(file.reference))
        if content is None:
            raise Rejected("it is not there any more")
        if len(content) > limit:
            raise Rejected(f"it is larger than {limit // 1_000_000} MB")
        return iter([content[:7], content[7:]])

    def is_me(self, bot_name: str) -> bool:
        return bot_name == "bot"

    def is_private(self, chat: Place, *, person: str) -> bool:
        return self._do("is_private", lambda: self.private.get(chat.chat) == person)

    def join(self, place: Place) -> None:
        self._do("join", lambda: self.joined.append(place))

    def resolve_chat(self, chat: Place, *, people: Sequence[str]) -> ResolvedChat:
        return self._do("resolve_chat", lambda: self._resolve(chat, people))

    def diagnose(self, home: Place | None, *, webhook_url: str, now: int, seconds: float) -> Sequence[Any]:
        return ()

    def said(self, place: Place) -> list[str]:
        """The texts that were posted at a place."""
        return [post.text for post in self.posts[place]]

    def _do(self, operation: str, act: Callable[[], T]) -> T:
        self.asked.append(operation)
        trouble = self.next[operation].popleft() if self.next[operation] else self.down
        if isinstance(trouble, Exception):
            if isinstance(trouble, Ambiguous) and self.accepts_before_failing:
                act()
            raise trouble
        if trouble is not None:
            trouble()
        return act()

    def _resolve(self, chat: Place, people: Sequence[str]) -> ResolvedChat:
        self._refuse_gone(chat)
        person = self.private.get(chat.chat)
        if person is not None and person not in people:
            raise ForeignChat
        return ResolvedChat(chat, private=person is not None)

    def _open(self, home: Place, title: str, key: str) -> Place:
        self._refuse_gone(home)
        place = Place("chat", home.chat, f"t{len(self.threads) + 1}")
        self.threads[place] = Thread(title, key)
        return place

    def _rewrite(self, place: Place, message_id: str, part: Part) -> None:
        for post in self.posts[place]:
            if post.id == message_id:
                post.text, post.buttons = part.text, part.buttons
                return
        raise Rejected("there is no such message")

    def _post(self, place: Place, part: Part, key: str, file: str = "", content: bytes = b"") -> str:
        self._refuse_gone(place)
        if self.capabilities.key and (known := self._posted(place, key)):
            return known
        post = Post(f"m{next(self._ids)}", key, part.text, part.buttons, file, content)
        self.posts[place].append(post)
        return post.id

    def _posted(self, place: Place, key: str) -> str | None:
        return next((post.id for post in self.posts[place] if post.key == key), None)

    def _refuse_gone(self, place: Place) -> None:
        if self.gone & {place, place.home}:
            raise PlaceGone("the chat or thread was deleted")


class FakePlatforms:
    """The `Platforms` port with one platform, `chat`."""

    def __init__(self, platform: FakePlatform) -> None:
        self._platform = platform
        self.window_seconds: int | None = None

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
        if name != "chat":
            raise UnknownPlatform(name, self.known())
        return self._platform.capabilities.threads

    def is_chat_id(self, name: str, chat: str) -> bool:
        return name == "chat" and chat.isprintable()

    def window(self, name: str) -> int | None:
        return self.window_seconds

    def body_limit(self, name: str) -> int:
        return 1024 * 1024

    def drops_oversized(self, name: str) -> bool:
        return False

    def webhook_of(self, path: str) -> str | None:
        return path.removeprefix("/webhooks/") if path.startswith("/webhooks/") else None


def _files(names: Sequence[str]) -> list[tuple[str, str]]:
    """The kind and the reference, which is the name as well, of each file beside a message."""
    named = [name.split(":") for name in names if name.startswith("file:")]
    return [(kind, reference) for _, kind, reference in named]


def _event(line: str) -> Event:
    event_id, thread, text, *sender = line.split("|")
    place = Place("chat", "home", thread or None)
    if event_id == "invited":
        return Invited(place, text, *sender)
    if event_id == "announced":
        return Announced(place, text, *sender)
    if event_id == "receipt":
        return Receipt(place, text, sender[0] or None)
    if event_id == "heard":
        return Heard(place, text, int(sender[0]))
    if event_id.startswith("pressed"):
        message, *sender = sender
        return Pressed(event_id, place, sender[0] if sender else "ada-there", text, message, "handle")
    person, beside = (*sender, "", "")[:2]
    person, private = person or "ada-there", event_id.startswith("dm")
    place = Place("chat", f"with-{person}", thread or None) if private else place
    names = [name for name in beside.split(",") if name]
    albums = [name.removeprefix("album-") for name in names if name.startswith("album-")]
    return Inbound(
        event_id,
        place,
        person,
        "" if "forwarded" in names else text,
        private=private,
        forwarded=text if "forwarded" in names else "",
        attachments=counted(name for name in names if name in KINDS),
        album=albums[0] if albums else None,
        files=tuple(ChatFile(kind, reference, reference) for kind, reference in _files(names)),
    )
