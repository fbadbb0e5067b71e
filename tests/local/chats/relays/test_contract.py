"""Every relay forwards all messages to the webhook, in order, and logs none of them."""

import logging

import pytest

from local.chats import CHATS as ALL_CHATS
from local.chats.simulator import Simulator
from tests.local.chats.relays.under_test import CHATS, Relaying, texts
from tests.support.servers import WAIT_SECONDS
from tests.support.webhook_receiver import WebhookReceiver

WRONG = "1:wrong-token"
HAS_TOKEN = {chat.name: chat.has_token for chat in ALL_CHATS}


@pytest.fixture(params=CHATS)
def platform(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_a_burst_arrives_complete_and_in_order(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, platform: str
) -> None:
    said = [f"word {number}" for number in range(30)]
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        for text in said:
            simulator.say(platform, CHATS[platform], text)
        assert texts(receiver.accepted(30)) == said


def test_a_failing_event_is_retried_and_later_ones_wait(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, platform: str
) -> None:
    receiver.answer(500, 503, 401, 404, 200)
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say(platform, CHATS[platform], "first")
        simulator.say(platform, CHATS[platform], "second")
        assert texts(receiver.received(6)) == ["first"] * 5 + ["second"]


def test_a_rejected_event_does_not_block_the_next(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, platform: str
) -> None:
    receiver.answer(413, 200)
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say(platform, CHATS[platform], "too much")
        simulator.say(platform, CHATS[platform], "fine")
        assert texts(receiver.received(2)) == ["too much", "fine"]


def test_an_unaccepted_event_is_forwarded_by_the_next_relay(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, platform: str
) -> None:
    receiver.answer(500)
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say(platform, CHATS[platform], "do not lose me")
        receiver.received(2)
    receiver.answer(200)
    with relaying():
        assert texts(receiver.accepted(1)) == ["do not lose me"]


def test_a_redelivered_event_is_forwarded_again(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, platform: str
) -> None:
    simulator.arm(platform, "redeliver", 1)
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say(platform, CHATS[platform], "again")
        first, second = receiver.accepted(2)
    assert first.body == second.body


def test_a_wrong_token_ends_the_relay_with_advice(relaying: Relaying, platform: str) -> None:
    with relaying(token=WRONG) as relay:
        assert relay.wait(WAIT_SECONDS)
        assert f"{platform.upper()}_" in str(relay.problem)
        assert "_TOKEN" in str(relay.problem) or not HAS_TOKEN[platform]
        assert WRONG not in str(relay.problem)


def test_the_log_has_neither_secrets_nor_messages(
    simulator: Simulator,
    receiver: WebhookReceiver,
    relaying: Relaying,
    platform: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    receiver.answer(500, 200)
    with caplog.at_level(logging.DEBUG), relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say(platform, CHATS[platform], "a private word")
        receiver.accepted(1)
    lines = "\n".join(record.getMessage() for record in caplog.records)
    assert "waits for the webhook" in lines
    assert [secret for secret in simulator.secrets.values() if secret in lines] == []
    assert "a private word" not in lines
