"""Slack's relay acknowledges an envelope only after the webhook accepted its event."""

import time

import pytest
from slack_sdk.socket_mode.request import SocketModeRequest

from local.chats.simulator import Simulator
from local.chats.slack.relay import as_sent_by_http
from shared.domain.routes import Place
from shared.platforms.slack.adapter import Slack
from shared.ports.inbound import WebhookRequest
from shared.ports.platforms import Button, Part
from shared.settings import Settings
from tests.local.chats.relays.under_test import Relaying, texts
from tests.support.secrets import FakeSecrets
from tests.support.servers import WAIT_SECONDS, Request, Response
from tests.support.webhook_receiver import WebhookReceiver
from tests.support.webhooks import message_in, press_in

CHANNEL, DIRECT = "C0HOME", "D0OWNER"


@pytest.fixture
def platform() -> str:
    return "slack"


def adapter(simulator: Simulator) -> Slack:
    return Slack(Settings("handoffs", "sessions", "turns"), FakeSecrets(simulator.secrets))


def unique_texts(posted: list[Request]) -> list[str]:
    return list(dict.fromkeys(texts(posted)))


@pytest.mark.parametrize("chat", [CHANNEL, DIRECT])
def test_a_message_arrives_as_from_slacks_webhook(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, chat: str
) -> None:
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say("slack", chat, "is it ☕ time?")
        (posted,) = receiver.accepted(1)
    slack = adapter(simulator)
    assert posted.path == "/webhooks/slack"
    assert slack.verify(WebhookRequest(posted.body, posted.headers), now=int(time.time() * 1000))
    assert not slack.verify(WebhookRequest(posted.body + b" ", posted.headers), now=int(time.time() * 1000))
    message = message_in(slack.parse(WebhookRequest(posted.body, posted.headers)))
    assert (message.place, message.sender, message.text) == (Place("slack", chat), "U7001", "is it ☕ time?")


def test_an_acknowledged_event_is_not_redelivered(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying
) -> None:
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say("slack", CHANNEL, "once")
        receiver.accepted(1)
        simulator.say("slack", CHANNEL, "and on")
        receiver.accepted(2)
    with relaying():
        simulator.say("slack", CHANNEL, "after")
        assert texts(receiver.accepted(3)) == ["once", "and on", "after"]


def test_a_redelivery_is_marked(simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying) -> None:
    simulator.arm("slack", "redeliver", 1)
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say("slack", CHANNEL, "again")
        first, second = receiver.accepted(2)
    assert "x-slack-retry-num" not in first.headers
    assert second.headers["x-slack-retry-num"] == "1"


def test_a_closed_connection_is_reopened_without_loss(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying
) -> None:
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        for number in range(3):
            simulator.say("slack", CHANNEL, f"before {number}")
            simulator.disconnect("slack")
            simulator.say("slack", CHANNEL, f"after {number}")
        said = [f"{when} {number}" for number in range(3) for when in ("before", "after")]
        deadline = time.monotonic() + WAIT_SECONDS
        count = len(said)
        while sorted(unique_texts(receiver.accepted(count))) != sorted(said):
            assert time.monotonic() < deadline
            count += 1


def test_a_slash_command_becomes_slacks_form(simulator: Simulator) -> None:
    payload = {"command": "/resume", "text": "fix & go", "channel_id": CHANNEL, "user_id": "U7001", "trigger_id": "1.2"}
    raw, kind = as_sent_by_http(SocketModeRequest("slash_commands", "e1", payload))
    message = message_in(
        adapter(simulator).parse(WebhookRequest(raw, {"content-type": kind, "x-slack-request-timestamp": "1790000000"}))
    )
    assert message.text == "/resume fix & go"


def test_a_click_becomes_slacks_form() -> None:
    raw, kind = as_sent_by_http(SocketModeRequest("interactive", "e1", {"type": "block_actions"}))
    assert (raw, kind) == (b"payload=%7B%22type%22%3A+%22block_actions%22%7D", "application/x-www-form-urlencoded")


def test_a_press_arrives_and_is_answered(simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying) -> None:
    urls = {"slack": {"api": simulator.api_url("slack")}}
    slack = Slack(Settings("handoffs", "sessions", "turns", platform_urls=urls), FakeSecrets(simulator.secrets))
    receiver.answer(Response(body=b""))  # as the service answers a press
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        asked = Part("May I?", buttons=(Button("allow", "Allow"),))
        message = slack.send(Place("slack", CHANNEL), asked, key="a")
        simulator.press("slack", CHANNEL, message, "allow")
        posted = next(one for one in receiver.accepted(2) if one.body.startswith(b"payload="))
    request = WebhookRequest(posted.body, posted.headers)
    assert slack.verify(request, now=int(time.time() * 1000))
    pressed = press_in(slack.parse(request))
    assert (pressed.button, pressed.message, pressed.sender) == ("allow", message, "U7001")
    slack.acknowledge(pressed, "Allowed.")
    (channel,) = [c for c in simulator.state()["platforms"]["slack"]["chats"] if c["id"] == CHANNEL]
    assert channel["messages"][0]["acknowledged"] == [{"to": "owner", "text": "Allowed."}]
