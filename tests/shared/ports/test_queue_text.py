"""Wake-ups as the text that a queue carries."""

import json

import pytest

from shared.domain.routes import Place
from shared.ports.queue import TurnMessage
from shared.ports.queue_text import body_of, message_of

HERE = Place("telegram", "-1001", "17")
THERE = Place("slack", "C:1", "1.2")


@pytest.mark.parametrize(
    "message",
    [
        TurnMessage(HERE, handoff_id="h-1"),
        TurnMessage(THERE, event_id="0001"),
        TurnMessage(HERE, notice="It went on elsewhere. 🚀"),
        TurnMessage(HERE),
    ],
)
def test_a_wake_up_survives_the_round_trip(message: TurnMessage) -> None:
    assert message_of(body_of(message)) == message


def test_the_text_has_a_version_and_no_empty_field() -> None:
    assert json.loads(body_of(TurnMessage(HERE, event_id="1"))) == {"v": 1, "place": HERE.route, "event_id": "1"}


def test_fields_of_an_older_version_are_ignored() -> None:
    body = f'{{"v":1,"place":"{HERE.route}","session_id":"s-1","handoff_id":"h-1","fence":3}}'
    assert message_of(body) == TurnMessage(HERE, handoff_id="h-1")


@pytest.mark.parametrize("body", ['{"v":2,"place":"telegram:1"}', '{"place":"telegram:1"}'])
def test_another_version_is_rejected(body: str) -> None:
    with pytest.raises(ValueError, match="version"):
        message_of(body)
