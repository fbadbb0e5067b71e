"""Slack by Socket Mode: an envelope is acknowledged only when the webhook has its event."""

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from slack_sdk.socket_mode.request import SocketModeRequest

from local.relays.backoff import Backoff
from local.relays.slack import SlackRelay, as_sent_by_http
from local.simulator import Simulator
from shared.domain.routes import Place
from shared.platforms.slack import Slack
from shared.ports.inbound import Inbound
from shared.settings import Settings
from tests.local.relays.receiver import PATIENCE, Posted, Receiver

CHANNEL, DIRECT = "C0HOME", "D0OWNER"
Relaying = Callable[..., AbstractContextManager[SlackRelay]]


@pytest.fixture
def relaying(simulator: Simulator, receiver: Receiver) -> Relaying:
    @contextmanager
    def start(*, token: str = "", url: str = "") -> Iterator[SlackRelay]:
        relay = SlackRelay(
            url or receiver.url,
            app_token=token or simulator.credentials.slack_app_token,
            signing_secret=simulator.credentials.slack_signing_secret,
            api_url=simulator.slack_api_url,
            ping_seconds=0.2,
            pauses=lambda: Backoff(0.01, 0.05),
        )
        relay.start()
        try:
            yield relay
        finally:
            relay.stop()

    return start


def adapter(simulator: Simulator) -> Slack:
    class Secrets:
        def get(self, name: str) -> str | None:
            return simulator.credentials.slack_signing_secret if name == "slack/signing_secret" else None

    return Slack(Settings("handoffs", "sessions", "turns"), Secrets())


def texts(posted: list[Posted]) -> list[str]:
    return [json.loads(one.raw)["event"]["text"] for one in posted]


def unique_texts(posted: list[Posted]) -> list[str]:
    return list(dict.fromkeys(texts(posted)))


@pytest.mark.parametrize("chat", [CHANNEL, DIRECT])
def test_a_message_arrives_as_slacks_own_webhook_would_bring_it(
    simulator: Simulator, receiver: Receiver, relaying: Relaying, chat: str
) -> None:
    with relaying() as relay:
        assert relay.connected.wait(PATIENCE)
        simulator.say("slack", chat, "is it ☕ time?")
        (posted,) = receiver.accepted(1)
    slack = adapter(simulator)
    assert posted.platform == "slack"
    assert slack.verify(posted.headers, posted.raw, now=int(time.time() * 1000))
    assert not slack.verify(posted.headers, posted.raw + b" ", now=int(time.time() * 1000))
    heard = slack.parse(posted.headers, posted.raw)
    assert isinstance(heard, Inbound)
    assert (heard.place, heard.sender, heard.text) == (Place("slack", chat), "U7001", "is it ☕ time?")


def test_a_burst_arrives_complete_and_in_order(simulator: Simulator, receiver: Receiver, relaying: Relaying) -> None:
    said = [f"word {number}" for number in range(30)]
    with relaying() as relay:
        assert relay.connected.wait(PATIENCE)
        for text in said:
            simulator.say("slack", CHANNEL, text)
        assert texts(receiver.accepted(30)) == said


def test_a_failing_webhook_gets_the_event_again_with_a_fresh_signature(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    receiver.answer(500, 503, 200)
    with relaying() as relay:
        assert relay.connected.wait(PATIENCE)
        simulator.say("slack", CHANNEL, "first")
        simulator.say("slack", CHANNEL, "second")
        assert texts(receiver.posted(4)) == ["first", "first", "first", "second"]


def test_an_event_that_the_webhook_never_took_is_not_acknowledged_and_the_next_relay_brings_it(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    receiver.answer(500)
    with relaying() as relay:
        assert relay.connected.wait(PATIENCE)
        simulator.say("slack", CHANNEL, "do not lose me")
        receiver.posted(2)
    receiver.recover()
    with relaying():
        assert texts(receiver.accepted(1)) == ["do not lose me"]


def test_an_acknowledged_event_does_not_come_again(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    with relaying() as relay:
        assert relay.connected.wait(PATIENCE)
        simulator.say("slack", CHANNEL, "once")
        receiver.accepted(1)
        simulator.say("slack", CHANNEL, "and on")
        receiver.accepted(2)
    with relaying():
        simulator.say("slack", CHANNEL, "after")
        assert texts(receiver.accepted(3)) == ["once", "and on", "after"]


def test_what_slack_delivers_twice_is_handed_on_twice(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    simulator.arm("slack", "redeliver", 1)
    with relaying() as relay:
        assert relay.connected.wait(PATIENCE)
        simulator.say("slack", CHANNEL, "again")
        first, second = receiver.accepted(2)
    assert first.raw == second.raw
    assert "x-slack-retry-num" not in first.headers
    assert second.headers["x-slack-retry-num"] == "1"


def test_a_connection_that_slack_ends_is_opened_again_and_loses_nothing(
    simulator: Simulator, receiver: Receiver, relaying: Relaying
) -> None:
    with relaying() as relay:
        assert relay.connected.wait(PATIENCE)
        for number in range(3):
            simulator.say("slack", CHANNEL, f"before {number}")
            simulator.disconnect("slack")
            simulator.say("slack", CHANNEL, f"after {number}")
        said = [f"{when} {number}" for number in range(3) for when in ("before", "after")]
        deadline = time.monotonic() + PATIENCE
        count = len(said)
        while sorted(unique_texts(receiver.accepted(count))) != sorted(said):
            assert time.monotonic() < deadline
            count += 1


def test_a_wrong_token_ends_the_relay_with_a_word_on_what_to_do(relaying: Relaying) -> None:
    with relaying(token="xapp-wrong") as relay:
        assert relay.wait(PATIENCE)
        assert "SLACK_APP_TOKEN" in str(relay.problem)
        assert "xapp-wrong" not in str(relay.problem)


def test_no_line_of_the_log_holds_a_token_or_what_was_said(
    simulator: Simulator, receiver: Receiver, relaying: Relaying, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answer(500, 200)
    with caplog.at_level(logging.DEBUG), relaying() as relay:
        assert relay.connected.wait(PATIENCE)
        simulator.say("slack", CHANNEL, "a private word")
        receiver.accepted(1)
    lines = "\n".join(record.getMessage() for record in caplog.records)
    assert "waits for the webhook" in lines
    assert simulator.credentials.slack_app_token not in lines
    assert simulator.credentials.slack_signing_secret not in lines
    assert "a private word" not in lines


def test_a_slash_command_becomes_the_form_that_slack_would_post(simulator: Simulator) -> None:
    payload = {"command": "/resume", "text": "fix & go", "channel_id": CHANNEL, "user_id": "U7001", "trigger_id": "1.2"}
    raw, kind = as_sent_by_http(SocketModeRequest("slash_commands", "e1", payload))
    heard = adapter(simulator).parse({"content-type": kind, "x-slack-request-timestamp": "1790000000"}, raw)
    assert isinstance(heard, Inbound)
    assert heard.text == "/resume fix & go"


def test_a_click_becomes_the_form_that_slack_would_post() -> None:
    raw, kind = as_sent_by_http(SocketModeRequest("interactive", "e1", {"type": "block_actions"}))
    assert (raw, kind) == (b"payload=%7B%22type%22%3A+%22block_actions%22%7D", "application/x-www-form-urlencoded")
