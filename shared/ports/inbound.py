"""Webhooks of chat platforms: the request that came in, and the events and the answer that it parses to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.domain.routes import Place

# Ids become parts of keys: neither empty nor longer than any platform's, without spaces, controls and half characters.
_ID = re.compile(r"[!-~]{1,200}")


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
    no platform sends; half of a surrogate pair in `text` is replaced, because it can be neither stored nor sent.
    """

    event_id: str
    place: Place
    sender: str
    text: str
    private: bool = False
    addressee: str | None = None

    def __post_init__(self) -> None:
        _check_ids(self.event_id, self.sender, self.place)
        whole = self.text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        object.__setattr__(self, "text", whole)


@dataclass(frozen=True)
class Invited:
    """A person invited the bot to a chat. `Platform.join` accepts it, if the person is known."""

    place: Place
    sender: str

    def __post_init__(self) -> None:
        _check_ids(self.sender, self.sender, self.place)


def _check_ids(event_id: str, sender: str, place: Place) -> None:
    for value in (event_id, sender, place.chat, "-" if place.thread is None else place.thread):
        if not _ID.fullmatch(value):
            raise ValueError("not an id that a platform would send")


@dataclass(frozen=True)
class Parsed:
    """What a verified webhook holds: any number of events in their order, and the platform's own form of answer, if any.

    `ignored` says, fit for a log, why a webhook without events and answer needs no action.
    """

    events: tuple[Inbound | Invited, ...] = ()
    answer: Answer | None = None
    ignored: str = ""
