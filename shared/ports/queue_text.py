"""Turn messages as the JSON text that every queue carries."""

import json

from shared.domain.routes import place_of
from shared.ports.queue import InboxEvent, Kickoff, Notice, TurnMessage

VERSION = 1
"""Lets a function reject what a newer version has sent."""


def body_of(message: TurnMessage) -> str:
    """Serialise a message."""
    fields: dict[str, object] = {"v": VERSION, "place": message.place.route}
    match message:
        case Kickoff(handoff_id=handoff_id):
            fields["handoff_id"] = handoff_id
        case InboxEvent(event_id=event_id):
            fields["event_id"] = event_id
        case Notice(event_id=event_id, text=text):
            fields |= {"event_id": event_id, "notice": text}
    return json.dumps(fields, separators=(",", ":"))


def message_of(body: str) -> TurnMessage:
    """Parse a message; unknown fields are ignored. Raises ValueError for another version and for anything else."""
    fields = json.loads(body)
    version = fields.get("v") if isinstance(fields, dict) else None
    if version != VERSION:
        raise ValueError(f"queue message of version {version}, expected version {VERSION}")
    try:
        place = place_of(fields["place"])
        if "handoff_id" in fields:
            return Kickoff(place, fields["handoff_id"])
        if "notice" in fields:
            return Notice(place, fields["event_id"], fields["notice"])
        return InboxEvent(place, fields["event_id"])
    except KeyError as missing:
        raise ValueError(f"queue message without {missing}") from missing
