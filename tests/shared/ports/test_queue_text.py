"""Turn messages and runs as the JSON text that a queue carries."""

import json

import pytest

from shared.domain.routes import Place
from shared.ports.queue import InboxEvent, Kickoff, Notice, Run, Show, TurnMessage, WakeUp
from shared.ports.queue_text import body_of, message_of, run_body_of, run_of

HERE = Place("telegram", "-1001", "17")
ROUTE = HERE.route

# The wire format: messages of the previous release are in the queue while a new one is deployed.
WIRE = [
    (Kickoff(HERE, "h-1"), {"v": 1, "place": ROUTE, "handoff_id": "h-1"}),
    (InboxEvent(Place("slack", "C:1", "1.2"), "0001"), {"v": 1, "place": "slack:C%3A1:1.2", "event_id": "0001"}),
    (Notice(HERE, "n-1", "Moved. 🚀"), {"v": 1, "place": ROUTE, "event_id": "n-1", "notice": "Moved. 🚀"}),
    (WakeUp(HERE, "s-1"), {"v": 1, "place": ROUTE, "session_id": "s-1"}),
    (Show(HERE, "s-1", "t-1"), {"v": 1, "place": ROUTE, "session_id": "s-1", "show": "t-1"}),
]


@pytest.mark.parametrize(("message", "fields"), WIRE, ids=lambda value: type(value).__name__)
def test_each_kind_has_its_text(message: TurnMessage, fields: dict[str, object]) -> None:
    assert json.loads(body_of(message)) == fields
    assert message_of(json.dumps(fields)) == message


def test_unknown_fields_are_ignored() -> None:
    body = {"v": 1, "place": ROUTE, "session_id": "s-1", "handoff_id": "h-1", "fence": 3}
    assert message_of(json.dumps(body)) == Kickoff(HERE, "h-1")


@pytest.mark.parametrize("version", ["2", '"1"', "null"])
def test_another_version_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match="newer"):
        message_of(f'{{"v":{version},"place":"{ROUTE}","event_id":"1"}}')


def test_a_message_without_a_version_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown"):
        message_of(f'{{"place":"{ROUTE}","event_id":"1"}}')


@pytest.mark.parametrize("body", ["no json", "[]", "null", "7"])
def test_a_text_that_is_no_message_is_refused(body: str) -> None:
    with pytest.raises(ValueError, match=r"not an object|Expecting value"):
        message_of(body)


@pytest.mark.parametrize(
    "body",
    [
        '{"v":1}',
        '{"v":1,"place":"telegram:1"}',
        '{"v":1,"place":"x:1","notice":"n"}',
        '{"v":1,"place":5,"event_id":"1"}',
        '{"v":1,"place":"x:1","handoff_id":[]}',
        '{"v":1,"place":"x:1","session_id":7}',
    ],
)
def test_a_message_without_its_fields_is_refused(body: str) -> None:
    with pytest.raises(ValueError, match="without"):
        message_of(body)


def test_a_run_has_its_text() -> None:
    fields = {"v": 1, "session_id": "s-1", "turn_id": "t-1"}
    assert json.loads(run_body_of(Run("s-1", "t-1"))) == fields
    assert run_of(json.dumps(fields | {"unknown": 1})) == Run("s-1", "t-1")


@pytest.mark.parametrize(
    "body",
    [
        "no json",
        "[]",
        '{"v":2,"session_id":"s-1","turn_id":"t-1"}',
        '{"v":1,"session_id":"s-1"}',
        '{"v":1,"turn_id":"t-1"}',
        '{"v":1,"session_id":"s-1","turn_id":1}',
    ],
)
def test_a_text_that_is_no_run_is_refused(body: str) -> None:
    with pytest.raises(ValueError, match=r"not an object|Expecting value|newer|without"):
        run_of(body)
