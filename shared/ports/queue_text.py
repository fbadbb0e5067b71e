"""A wake-up as the JSON text that a queue carries, and back: the same for every queue."""

import json

from shared.domain.routes import place_of
from shared.ports.queue import TurnMessage

VERSION = 1
"""Lets a newer function recognise what an older one sent."""


def body_of(message: TurnMessage) -> str:
    """The wake-up as text."""
    fields = {
        "v": VERSION,
        "place": message.place.route,
        "handoff_id": message.handoff_id,
        "event_id": message.event_id,
        "notice": message.notice,
    }
    return json.dumps({name: value for name, value in fields.items() if value is not None}, separators=(",", ":"))


def message_of(body: str) -> TurnMessage:
    """Parse a wake-up. Raises ValueError for another version."""
    fields = json.loads(body)
    if fields.get("v") != VERSION:
        raise ValueError(f"queue message of version {fields.get('v')}, expected version {VERSION}")
    names = ("handoff_id", "event_id", "notice")
    return TurnMessage(place_of(fields["place"]), **{name: fields.get(name) for name in names})
