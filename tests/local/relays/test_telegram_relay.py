"""Telegram by long polling: an update leaves Telegram only when the webhook has it."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import httpx
import pytest

from local.relays.backoff import Backoff
from local.relays.telegram import TelegramRelay
from local.simulator import Simulator
from shared.domain.routes import Place
from shared.platforms.telegram import Telegram
from shared.ports.inbound import Inbound
from shared.settings import Settings
from tests.local.relays.receiver import PATIENCE, Posted, Receiver

CHAT, FORUM = "7001", "-1001000000001"
Relaying = Callable[..., AbstractContextManager[TelegramRelay]]


@pytest.fixture
def relaying(simulator: Simulator, receiver: Receiver) -> Relaying:
    @contextmanager
    def start(*, token: str = "", url: str = "", replace_webhook: bool = False) -> Iterator[TelegramRelay]:
        relay = TelegramRelay(
            url or receiver.url,
            token=token or simulator.credentials.telegram_token,
            secret=simulator.credentials.telegram_webhook_secret,
            api_url=simulator.telegram_api_url,
            replace_webhook=replace_webhook,
            poll_seconds=5,
            pauses=lambda: Backoff(0.01, 0.05),
        )
        relay.start()
        try:
            yield relay
        finally:
            relay.stop()

    return start


def waiting(simulator: Simulator) -> int:
    """How many updates Telegram still keeps for the bot."""
    url = f"{simulator.telegram_api_url}{simulator.credentials.telegram_token}/getWebhookInfo"
    count: int = httpx.get(url).json()["result"]["pending_update_count"]
    return count


def texts(posted: list[Posted]) -> list[str]:
    return [json.loads(one.raw)["message"]["text"] for one in posted]


def test_a_message_arrives_as_telegrams_own_webhook_would_bring_it(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    class Secrets:
        def get(self, name: str) -> str | None:
            return simulator.credentials.telegram_webhook_secret if name == "telegram/webhook_secret" else None

    adapter = Telegram(Settings("handoffs", "sessions", "turns"), Secrets())
    with relaying() as relay:
        assert relay.connected.wait(PATIENCE)
        simulator.say("telegram", CHAT, "is it ☕ time?")
        (posted,) = receiver.accepted(1)
    assert posted.platform == "telegram"
    assert adapter.verify(posted.headers, posted.raw, now=0)
    heard = adapter.parse(posted.headers, posted.raw)
    assert isinstance(heard, Inbound)
    assert (heard.place, heard.sender, heard.text) == (Place("telegram", CHAT), "7001", "is it ☕ time?")


def test_what_was_said_before_the_relay_ran_is_brought_too_and_in_order(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    said = [f"word {number}" for number in range(120)]
    for text in said:
        simulator.say("telegram", CHAT, text)
    with relaying():
        assert texts(receiver.accepted(120)) == said


def test_a_failing_webhook_gets_the_update_again_and_later_ones_wait(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    receiver.answer(500, 503, 401, 404, 200)
    simulator.say("telegram", CHAT, "first")
    simulator.say("telegram", CHAT, "second")
    with relaying():
        assert texts(receiver.posted(6)) == ["first"] * 5 + ["second"]


def test_an_update_that_the_webhook_never_took_is_still_telegrams_and_the_next_relay_brings_it(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    receiver.answer(500)
    with relaying():
        simulator.say("telegram", CHAT, "do not lose me")
        receiver.posted(2)
    assert waiting(simulator) == 1
    receiver.recover()
    with relaying():
        assert texts(receiver.accepted(1)) == ["do not lose me"]


def test_an_update_that_is_refused_for_good_does_not_hold_up_the_next(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    receiver.answer(413, 200)
    simulator.say("telegram", CHAT, "too much")
    simulator.say("telegram", CHAT, "fine")
    with relaying():
        assert texts(receiver.posted(2)) == ["too much", "fine"]


@pytest.mark.parametrize("kind", ["reset", "server_error", "rate_limit"])
def test_a_poll_that_fails_is_repeated(simulator: Simulator, receiver: Receiver, relaying: Relaying, kind: str) -> None:
    simulator.arm("telegram", kind, 2, on="read", seconds=0)
    simulator.say("telegram", CHAT, "still there?")
    with relaying():
        assert texts(receiver.accepted(1)) == ["still there?"]


def test_what_telegram_delivers_twice_is_handed_on_twice(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    simulator.arm("telegram", "redeliver", 1)
    simulator.say("telegram", CHAT, "again")
    with relaying():
        first, second = receiver.accepted(2)
    assert first.raw == second.raw


def test_a_wrong_token_ends_the_relay_with_a_word_on_what_to_do(relaying: Relaying) -> None:
    with relaying(token="1:wrong") as relay:
        assert relay.wait(PATIENCE)
        assert "TELEGRAM_BOT_TOKEN" in str(relay.problem)
        assert "1:wrong" not in str(relay.problem)


def test_a_bot_with_a_webhook_is_left_alone_unless_told_otherwise(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    methods = f"{simulator.telegram_api_url}{simulator.credentials.telegram_token}"
    httpx.post(f"{methods}/setWebhook", json={"url": "http://127.0.0.1:9/nobody"})
    with relaying() as relay:
        assert relay.wait(PATIENCE)
        assert "--replace-webhook" in str(relay.problem)
    with relaying(replace_webhook=True) as relay:
        assert relay.connected.wait(PATIENCE)
        simulator.say("telegram", CHAT, "over here")
        assert texts(receiver.accepted(1)) == ["over here"]


def test_no_line_of_the_log_holds_the_token(
    simulator: Simulator, relaying: Relaying, caplog: pytest.LogCaptureFixture
) -> None:
    token = simulator.credentials.telegram_token
    with caplog.at_level(logging.DEBUG):
        simulator.arm("telegram", "reset", 2, on="read")
        simulator.say("telegram", CHAT, "a private word")
        with relaying(url="http://127.0.0.1:9") as relay:
            assert relay.connected.wait(PATIENCE)
        lines = "\n".join(record.getMessage() for record in caplog.records)
    assert "asking again" in lines
    assert token not in lines
    assert "a private word" not in lines


def test_a_relay_may_be_stopped_twice_and_before_it_has_connected(relaying: Relaying) -> None:
    with relaying() as relay:
        relay.stop()
        relay.stop()
        assert relay.wait(0)
        assert relay.problem is None
