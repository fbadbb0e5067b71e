"""What a webhook of a chat platform turns out to say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.domain.routes import Place


@dataclass(frozen=True)
class Answer:
    """What to reply to a webhook at once: a handshake, or a word that the message has arrived."""

    body: Mapping[str, Any] | str
    status: int = 200


@dataclass(frozen=True)
class Inbound:
    """A person said something at a place.

    `event_id` is the platform's own id of the message, the same on every redelivery, and sorts in the order of speaking.
    `sender` is the platform's unchangeable id of the person. `answer`, if any, is what the webhook must reply with.
    """

    event_id: str
    place: Place
    sender: str
    text: str
    answer: Answer | None = None


@dataclass(frozen=True)
class Ignored:
    """A verified event that is nobody's message: a bot's, an edit, a kind that is not used. `why` is fit for a log."""

    why: str
