"""Turn messages and runs as the JSON text that every queue carries."""

import json
from collections.abc import Mapping

from shared.domain.routes import place_of
from shared.ports.queue import Fetch, InboxEvent, Kickoff, Notice, Ready, Run, RunMessage, Show, TurnMessage, WakeUp

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
        case WakeUp(session_id=session_id):
            fields["session_id"] = session_id
        case Show(session_id=session_id, turn_id=turn_id):
            fields |= {"session_id": session_id, "show": turn_id}
        case Ready(event_id=event_id):
            fields["ready"] = event_id
    return _text_of(fields)


def run_body_of(run: RunMessage) -> str:
    """Serialise a message for the agent."""
    if isinstance(run, Fetch):
        named = {"place": run.place.route, "fetch": run.event_id, "session_id": run.session_id}
        return _text_of({"v": VERSION, **named})
    return _text_of({"v": VERSION, "session_id": run.session_id, "turn_id": run.turn_id})


def _text_of(fields: Mapping[str, object]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def message_of(body: str) -> TurnMessage:
    """Parse a message; unknown fields are ignored.

    Raises ValueError for a newer version or another kind: the message belongs back in the queue, for a newer worker.
    """
    fields = _fields_of(body)
    place = place_of(_text(fields, "place"))
    if "handoff_id" in fields:
        return Kickoff(place, _text(fields, "handoff_id"))
    if "notice" in fields:
        return Notice(place, _text(fields, "event_id"), _text(fields, "notice"))
    if "show" in fields:
        return Show(place, _text(fields, "session_id"), _text(fields, "show"))
    if "ready" in fields:
        return Ready(place, _text(fields, "ready"))
    if "session_id" in fields:
        return WakeUp(place, _text(fields, "session_id"))
    return InboxEvent(place, _text(fields, "event_id"))


def run_of(body: str) -> RunMessage:
    """Parse a message for the agent; raises ValueError as `message_of` does."""
    fields = _fields_of(body)
    if "fetch" in fields:
        return Fetch(place_of(_text(fields, "place")), _text(fields, "fetch"), _text(fields, "session_id"))
    return Run(_text(fields, "session_id"), _text(fields, "turn_id"))


def _fields_of(body: str) -> dict[str, object]:
    fields = json.loads(body)
    if not isinstance(fields, dict):
        raise ValueError("queue message that is not an object")  # noqa: TRY004  # one error for all that is unreadable
    version = fields.get("v")
    if not isinstance(version, int) or version > VERSION:
        raise ValueError(f"queue message of version {version}: unknown, or newer than {VERSION}")
    return fields


def _text(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"queue message without {name}")  # noqa: TRY004  # one error for all that is unreadable
    return value
