"""What a relay promises, whatever its platform: all that was said reaches the webhook, in order, and no log."""

import logging

import pytest

from local.chats.simulator import Simulator
from tests.local.chats.relays.relays import CHATS, Relaying, texts
from tests.support.servers import WAIT_SECONDS
from tests.support.webhook_receiver import WebhookReceiver

WRONG_TOKENS = {
    "telegram": ("1:wrong", "TELEGRAM_BOT_TOKEN"),
    "slack": ("xapp-wrong", "SLACK_APP_TOKEN"),
    "discord": ("wrong-token", "DISCORD_BOT_TOKEN"),
}


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


def test_a_failing_webhook_gets_the_event_again_and_later_ones_wait(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, platform: str
) -> None:
    receiver.answer(500, 503, 401, 404, 200)
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say(platform, CHATS[platform], "first")
        simulator.say(platform, CHATS[platform], "second")
        assert texts(receiver.received(6)) == ["first"] * 5 + ["second"]


def test_an_event_that_is_refused_for_good_does_not_hold_up_the_next(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, platform: str
) -> None:
    receiver.answer(413, 200)
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say(platform, CHATS[platform], "too much")
        simulator.say(platform, CHATS[platform], "fine")
        assert texts(receiver.received(2)) == ["too much", "fine"]


def test_an_event_that_the_webhook_never_took_is_brought_by_the_next_relay(
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


def test_what_is_delivered_twice_is_handed_on_twice(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, platform: str
) -> None:
    simulator.arm(platform, "redeliver", 1)
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say(platform, CHATS[platform], "again")
        first, second = receiver.accepted(2)
    assert first.body == second.body


def test_a_wrong_token_ends_the_relay_with_a_word_on_what_to_do(relaying: Relaying, platform: str) -> None:
    wrong, variable = WRONG_TOKENS[platform]
    with relaying(token=wrong) as relay:
        assert relay.wait(WAIT_SECONDS)
        assert variable in str(relay.problem)
        assert wrong not in str(relay.problem)


def test_no_line_of_the_log_holds_a_secret_or_what_was_said(
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
