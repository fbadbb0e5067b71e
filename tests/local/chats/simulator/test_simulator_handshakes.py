"""What platforms ask of a webhook before they send events: challenge, PING, and a forged signature."""

import json
from typing import Any

import pytest
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from slack_sdk.signature import SignatureVerifier

from local.chats.simulator import Simulator


def careful(simulator: Simulator) -> Any:
    """Answers as a service should: checks the signature, then the question."""
    slack = SignatureVerifier(simulator.credentials.slack_signing_secret)
    discord = VerifyKey(bytes.fromhex(simulator.credentials.discord_public_key))

    def reply(call: Any) -> tuple[int, bytes]:
        question = json.loads(call.body)
        if call.path == "/webhooks/slack":
            valid = slack.is_valid_request(call.body, call.headers)
            return (200, json.dumps({"challenge": question["challenge"]}).encode()) if valid else (401, b"{}")
        signature = bytes.fromhex(call.headers["X-Signature-Ed25519"])
        try:
            discord.verify(call.headers["X-Signature-Timestamp"].encode() + call.body, signature)
        except BadSignatureError:
            return 401, b"{}"
        return 200, json.dumps({"type": 1}).encode()

    return reply


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
def test_a_careful_webhook_is_accepted(simulator: Simulator, receiver: Any, platform: Any) -> None:
    receiver.reply = careful(simulator)
    simulator.webhook_url = receiver.url
    assert simulator.verify(platform).ok


@pytest.mark.parametrize("platform", ["slack", "discord"])
def test_a_webhook_that_nods_at_everything_is_not(simulator: Simulator, receiver: Any, platform: Any) -> None:
    receiver.reply = lambda _: (200, b'{"type": 1}')
    simulator.webhook_url = receiver.url
    assert not simulator.verify(platform).ok


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
def test_without_a_webhook_there_is_nobody_to_ask(simulator: Simulator, platform: Any) -> None:
    assert not simulator.verify(platform).ok


def test_a_webhook_that_nobody_answers_is_told_as_such(simulator: Simulator, receiver: Any) -> None:
    url = receiver.url
    receiver.stop()
    simulator.webhook_url = url
    assert simulator.verify("discord").detail == "PING was answered with None, a forged one with None"
    assert not simulator.verify("slack").ok
