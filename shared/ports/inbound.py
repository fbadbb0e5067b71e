"""Webhooks of chat platforms: the request that came in, and the events and the answer that it parses to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.domain.attachments import Attachment
from shared.domain.files import ChatFile
from shared.domain.messages import MAX_TEXT, whole
from shared.domain.routes import Place

# Ids become parts of keys: neither empty nor longer than any platform's, without spaces, controls and half characters.
_ID = re.compile(r"[!-~]{1,200}")
_HANDLE = re.compile(r"[!-~]{1,2000}")
MAX_NAME = 100
_LATEST = 10**15
BUTTON_ID = re.compile(r"[!-~]{1,64}")
"""The id of a button; the longest that every platform returns."""


@dataclass(frozen=True)
class WebhookRequest:
    """A request to `/webhooks/{platform}/{rest}`. Header names are in lower case; `body` is as it was signed."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "POST"
    rest: str = ""
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The response to a webhook: of a handshake, or what the platform shows to the sender at once."""

    body: Mapping[str, Any] | str
    status: int = 200


@dataclass(frozen=True)
class Inbound:
    """A person's message at a place.

    `event_id` is the platform's id of the message: the same on every redelivery, and ids sort in the order of sending.
    `sender` is the platform's id of the person, which the person cannot change. `private`: only the sender and the bot are
    in the chat. `addressee` is the bot that a command names, if it names one. Raises ValueError or TypeError for ids that
    no platform sends. `name` is what the sender is called there, if the webhook tells: only to be shown, because people
    choose and change it. `written_at` is the platform's time of the message in ms, if it tells; some count in seconds.

    `text` are the sender's own words, also below a picture. `forwarded` are words that the platform says the sender did not
    write: never a command. Both are made whole and cut to the length that can be stored. `files` can be fetched,
    `attachments` is what the message carries beside them that is not text, and `album` is the same for messages that were
    sent as one.
    """

    event_id: str
    place: Place
    sender: str
    text: str
    private: bool = False
    addressee: str | None = None
    name: str = ""
    written_at: int | None = None
    forwarded: str = ""
    attachments: tuple[Attachment, ...] = ()
    album: str | None = None
    files: tuple[ChatFile, ...] = ()

    def __post_init__(self) -> None:
        _check_ids(self.event_id, self.sender, self.place)
        if self.album is not None and not _ID.fullmatch(self.album):
            raise ValueError("not an album that a platform would send")
        if self.written_at is not None and not 0 <= self.written_at < _LATEST:
            raise ValueError("not a time that a platform would send")
        object.__setattr__(self, "text", whole(self.text)[:MAX_TEXT])
        object.__setattr__(self, "forwarded", whole(self.forwarded)[: MAX_TEXT - len(self.text)])
        object.__setattr__(self, "name", whole(self.name)[:MAX_NAME] if isinstance(self.name, str) else "")


@dataclass(frozen=True)
class Invited:
    """A person invited the bot to a chat, or wrote where it cannot read. If the person is known, `Platform.join` follows.

    `addressee` is the account that was invited, if it may be another one than the bot's.
    """

    place: Place
    sender: str
    addressee: str | None = None

    def __post_init__(self) -> None:
        _check_ids(self.sender, self.sender, self.place)


@dataclass(frozen=True)
class Announced:
    """A person wrote a message in a chat, and the webhook only names it: `Platform.fetch` reads it.

    `sender` is the person, if the webhook names one. Raises ValueError or TypeError for ids that no platform sends.
    """

    place: Place
    message: str
    sender: str | None = None

    def __post_init__(self) -> None:
        _check_ids(self.message, self.sender or "-", self.place)


@dataclass(frozen=True)
class Pressed:
    """A person pressed a button of the bot's message `message`.

    `event_id` is the same on every redelivery and sorts in the order of presses. `button` is the `Button.id`; the person
    may have pressed one that an edit has removed since. `handle` lets `Platform.acknowledge` answer this press for some
    minutes; it may hold a token, so it is never shown. Raises ValueError or TypeError for what no platform sends.
    """

    event_id: str
    place: Place
    sender: str
    button: str
    message: str
    handle: str = field(repr=False)
    private: bool = False

    def __post_init__(self) -> None:
        _check_ids(self.event_id, self.sender, self.place)
        if not (BUTTON_ID.fullmatch(self.button) and _ID.fullmatch(self.message) and _HANDLE.fullmatch(self.handle)):
            raise ValueError("not a press that a platform would send")


@dataclass(frozen=True)
class Heard:
    """A person did something at `at` (ms) after which the bot may write to that person for a while. Any order, any repeat."""

    place: Place
    sender: str
    at: int

    def __post_init__(self) -> None:
        _check_ids(self.sender, self.sender, self.place)


@dataclass(frozen=True)
class Receipt:
    """The platform accepted a message of the bot as `message_id`, or refused it for good (None). Any order, any repeat.

    `key` is the one of `Platform.send`. Raises ValueError or TypeError for what no platform sends.
    """

    place: Place
    key: str
    message_id: str | None

    def __post_init__(self) -> None:
        if not _HANDLE.fullmatch(self.key) or not _ID.fullmatch(self.message_id or "-"):
            raise ValueError("not a receipt that a platform would send")
        _check_ids("-", "-", self.place)


def _check_ids(event_id: str, sender: str, place: Place) -> None:
    for value in (event_id, sender, place.chat, "-" if place.thread is None else place.thread):
        if not _ID.fullmatch(value):
            raise ValueError("not an id that a platform would send")


Event = Inbound | Invited | Announced | Pressed | Heard | Receipt


@dataclass(frozen=True)
class Parsed:
    """The content of a verified webhook: any number of events in their order, and the platform's own form of answer, if any.

    `ignored` says, fit for a log, why a webhook without events and answer needs no action.
    """

    events: tuple[Event, ...] = ()
    answer: Answer | None = None
    ignored: str = ""
