"""Telegram's relay confirms an update only after the webhook accepted it."""

import logging

import httpx
import pytest

from local.chats.simulator import Simulator
from shared.domain.routes import Place
from shared.platforms.telegram.adapter import Telegram
from shared.ports.inbound import WebhookRequest
from shared.ports.platforms import Button, Part
from shared.settings import Settings
from tests.local.chats.relays.under_test import Relaying, texts
from tests.support.secrets import FakeSecrets
from tests.support.servers import WAIT_SECONDS
from tests.support.webhook_receiver import WebhookReceiver
from tests.support.webhooks import message_in, press_in

CHAT = "7001"


@pytest.fixture
def platform() -> str:
    return "telegram"


def test_a_message_arrives_as_from_telegrams_webhook(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying
) -> None:
    adapter = Telegram(Settings("handoffs", "sessions", "turns"), FakeSecrets(simulator.secrets))
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say("telegram", CHAT, "is it ☕ time?")
        (posted,) = receiver.accepted(1)
    assert posted.path == "/webhooks/telegram"
    assert adapter.verify(WebhookRequest(posted.body, posted.headers), now=0)
    message = message_in(adapter.parse(WebhookRequest(posted.body, posted.headers)))
    assert (message.place, message.sender, message.text) == (Place("telegram", CHAT), "7001", "is it ☕ time?")


def test_earlier_messages_arrive_in_order(simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying) -> None:
    said = [f"word {number}" for number in range(120)]
    for text in said:
        simulator.say("telegram", CHAT, text)
    with relaying():
        assert texts(receiver.accepted(120)) == said


@pytest.mark.parametrize("kind", ["reset", "server_error", "rate_limit"])
def test_a_failed_poll_is_retried(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, kind: str
) -> None:
    simulator.arm("telegram", kind, 2, on="read", seconds=0)
    simulator.say("telegram", CHAT, "still there?")
    with relaying():
        assert texts(receiver.accepted(1)) == ["still there?"]


def test_a_webhook_is_removed_only_on_request(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying
) -> None:
    methods = f"{simulator.api_url('telegram')}{simulator.secrets['telegram/bot_token']}"
    httpx.post(f"{methods}/setWebhook", json={"url": "http://127.0.0.1:9/other"})
    with relaying() as relay:
        assert relay.wait(WAIT_SECONDS)
        assert "--replace-webhook" in str(relay.problem)
    with relaying(replace_webhook=True) as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say("telegram", CHAT, "over here")
        assert texts(receiver.accepted(1)) == ["over here"]


def test_the_log_of_a_failed_poll_hides_the_token(
    simulator: Simulator, relaying: Relaying, caplog: pytest.LogCaptureFixture
) -> None:
    token = simulator.secrets["telegram/bot_token"]
    with caplog.at_level(logging.DEBUG):
        simulator.arm("telegram", "reset", 2, on="read")
        simulator.say("telegram", CHAT, "a private word")
        with relaying(url="http://127.0.0.1:9") as relay:
            assert relay.connected.wait(WAIT_SECONDS)
        lines = "\n".join(record.getMessage() for record in caplog.records)
    assert "retrying" in lines
    assert token not in lines
    assert "a private word" not in lines


def test_stop_works_twice_and_before_connecting(relaying: Relaying) -> None:
    with relaying() as relay:
        relay.stop()
        relay.stop()
        assert relay.wait(0)
        assert relay.problem is None


def test_a_press_arrives(simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying) -> None:
    """Telegram sends presses only to a bot that names them among the updates that it wants."""
    urls = {"telegram": {"api": simulator.api_url("telegram")}}
    adapter = Telegram(Settings("handoffs", "sessions", "turns", platform_urls=urls), FakeSecrets(simulator.secrets))
    message = adapter.send(Place("telegram", CHAT), Part("May I?", buttons=(Button("allow", "Allow"),)), key="a")
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.press("telegram", CHAT, message, "allow")
        (posted,) = receiver.accepted(1)
    pressed = press_in(adapter.parse(WebhookRequest(posted.body, posted.headers)))
    assert (pressed.button, pressed.message, pressed.sender) == ("allow", message, "7001")
