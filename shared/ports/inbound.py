"""Webhooks of chat platforms: the request that came in, and the events and the answer that it parses to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.domain.routes import Place


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
    `sender` is the platform's id of the person, which the person cannot change.
    """

    event_id: str
    place: Place
    sender: str
    text: str


@dataclass(frozen=True)
class Invited:
    """A person invited the bot to a chat. `Platform.join` accepts it, if the person is known."""

    place: Place
    sender: str


@dataclass(frozen=True)
class Parsed:
    """What a verified webhook holds: any number of events in their order, and the platform's own form of answer, if any.

    `ignored` says, fit for a log, why a webhook without events and answer needs no action.
    """

    events: tuple[Inbound | Invited, ...] = ()
    answer: Answer | None = None
    ignored: str = ""
