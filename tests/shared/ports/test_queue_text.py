"""Turn messages as the JSON text that a queue carries."""

import json

import pytest

from shared.domain.routes import Place
from shared.ports.queue import InboxEvent, Kickoff, Notice, TurnMessage
from shared.ports.queue_text import body_of, message_of

HERE = Place("telegram", "-1001", "17")
ROUTE = HERE.route

# The wire format: messages of the previous release are in the queue while a new one is deployed.
WIRE = [
    (Kickoff(HERE, "h-1"), {"v": 1, "place": ROUTE, "handoff_id": "h-1"}),
    (InboxEvent(Place("slack", "C:1", "1.2"), "0001"), {"v": 1, "place": "slack:C%3A1:1.2", "event_id": "0001"}),
    (Notice(HERE, "n-1", "Moved. 🚀"), {"v": 1, "place": ROUTE, "event_id": "n-1", "notice": "Moved. 🚀"}),
]


@pytest.mark.parametrize(("message", "fields"), WIRE, ids=lambda value: type(value).__name__)
def test_each_kind_has_its_text(message: TurnMessage, fields: dict[str, object]) -> None:
    assert json.loads(body_of(message)) == fields
    assert message_of(json.dumps(fields)) == message


def test_unknown_fields_are_ignored() -> None:
    body = {"v": 1, "place": ROUTE, "session_id": "s-1", "handoff_id": "h-1", "fence": 3}
    assert message_of(json.dumps(body)) == Kickoff(HERE, "h-1")


@pytest.mark.parametrize("body", ['{"v":2,"place":"telegram:1"}', '{"place":"telegram:1"}', "[]", "null"])
def test_another_version_is_rejected(body: str) -> None:
    with pytest.raises(ValueError, match="version"):
        message_of(body)


@pytest.mark.parametrize("body", ['{"v":1}', '{"v":1,"place":"telegram:1"}', '{"v":1,"place":"x:1","notice":"n"}'])
def test_a_message_without_its_fields_is_rejected(body: str) -> None:
    with pytest.raises(ValueError, match="without"):
        message_of(body)
