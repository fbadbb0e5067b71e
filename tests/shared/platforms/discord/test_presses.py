"""Answers to presses on Discord: before the webhook's own answer, and after it."""

import re
from typing import Any

import pytest

from local.chats.simulator import Simulator
from shared.domain.routes import Place
from shared.platforms.discord.adapter import Discord
from shared.ports.inbound import Pressed, WebhookRequest
from shared.ports.platforms import Button, Part
from tests.support.servers import json_response
from tests.support.waiting import eventually
from tests.support.webhook_receiver import WebhookReceiver
from tests.support.webhooks import press_in

TEXT = "6001000000000000001"
HOME = Place("discord", TEXT)
ASKED = Part("May I?", buttons=(Button("allow", "Allow"),))
CALLBACK, FOLLOW_UP = "^POST .*/interactions/[^/]+/[^/]+/callback$", "^POST .*/webhooks/[^/]+/[^/]+$"


def shown(simulator: Simulator) -> dict[str, Any]:
    (channel,) = [c for c in simulator.state()["platforms"]["discord"]["chats"] if c["id"] == TEXT]
    (message,) = channel["messages"]
    found: dict[str, Any] = message
    return found


def calls(simulator: Simulator) -> list[str]:
    forms = (CALLBACK, FOLLOW_UP)
    return [form for call in simulator.calls for form in forms if re.search(form, call.name)]


def press(simulator: Simulator, discord: Discord, receiver: WebhookReceiver) -> Pressed:
    simulator.webhook_url = receiver.url
    message = discord.send(HOME, ASKED, key="a")
    simulator.press("discord", TEXT, message, "allow")
    request = receiver.next()
    return press_in(discord.parse(WebhookRequest(request.body, request.headers)))


def test_a_press_is_answered_before_the_webhook(
    simulator: Simulator, discord: Discord, receiver: WebhookReceiver
) -> None:
    """Discord refuses a follow-up before the first answer, so that one is given by a call."""
    pressed: list[Pressed] = []

    def handle(request: Any) -> Any:
        pressed.append(press_in(discord.parse(WebhookRequest(request.body, request.headers))))
        discord.acknowledge(pressed[0], "Allowed.")
        return json_response({"type": 6})

    receiver.answer(handle)
    press(simulator, discord, receiver)

    eventually(lambda: [attempt for attempt in simulator.attempts if attempt.status == 200])
    assert calls(simulator) == [CALLBACK]
    assert shown(simulator)["acknowledged"] == [{"to": "owner", "text": "Allowed."}]
    discord.acknowledge(pressed[0], "And on.")
    assert calls(simulator) == [CALLBACK, CALLBACK, FOLLOW_UP]
    assert shown(simulator)["acknowledged"][1:] == [{"to": "owner", "text": "And on."}]


def test_a_press_is_answered_after_the_webhook(
    simulator: Simulator, discord: Discord, receiver: WebhookReceiver
) -> None:
    receiver.answer(json_response({"type": 6}))
    pressed = press(simulator, discord, receiver)
    eventually(lambda: [attempt for attempt in simulator.attempts if attempt.status == 200])

    discord.acknowledge(pressed, "Allowed. " * 400)

    assert calls(simulator) == [CALLBACK, FOLLOW_UP]
    (answer,) = shown(simulator)["acknowledged"]
    assert answer["text"].startswith("Allowed. Allowed.")


def test_a_press_without_an_answer_fails_for_its_person(
    simulator: Simulator, discord: Discord, receiver: WebhookReceiver
) -> None:
    receiver.answer(500)
    press(simulator, discord, receiver)

    eventually(lambda: shown(simulator).get("acknowledged") == [{"to": "owner", "text": "This interaction failed"}])


@pytest.mark.parametrize("handle", ["x", "1/2", "1/2/3/4", "a/2/t", "1/2/t?x", "1/2/../../users/@me"])
def test_an_odd_handle_makes_no_call(simulator: Simulator, discord: Discord, handle: str) -> None:
    discord.acknowledge(Pressed("1", HOME, "7001000000000000001", "allow", "2", handle), "Allowed.")

    assert calls(simulator) == []
