"""Turn messages as the JSON text that every queue carries."""

import json

from shared.domain.routes import place_of
from shared.ports.queue import InboxEvent, Kickoff, Notice, TurnMessage

VERSION = 1
"""Raised only when a worker of the release before must not run what this one sends. docs/upgrades.md has the rule."""


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
    """Parse a message of this version or an older one; unknown fields are ignored.

    Raises ValueError for a newer version or another kind: the message belongs back in the queue, for a newer worker.
    """
    fields = json.loads(body)
    if not isinstance(fields, dict):
        raise ValueError("queue message that is not an object")  # noqa: TRY004  # one error for all that is unreadable
    version = fields.get("v", 0)  # the first messages had none
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(f"queue message of version {version}, newer than {VERSION}")
    place = place_of(_text(fields, "place"))
    if "handoff_id" in fields:
        return Kickoff(place, _text(fields, "handoff_id"))
    if "notice" in fields:
        return Notice(place, _text(fields, "event_id"), _text(fields, "notice"))
    return InboxEvent(place, _text(fields, "event_id"))


def _text(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"queue message without {name}")  # noqa: TRY004  # one error for all that is unreadable
    return value
