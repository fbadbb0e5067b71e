"""How platforms verify a webhook URL: challenge, PING, and a forged signature."""

from typing import Any

import pytest
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from slack_sdk.signature import SignatureVerifier

from local.chats import CHATS
from local.chats.simulator import Simulator
from tests.support.servers import Answer, Request, Response, json_response
from tests.support.webhook_receiver import WebhookReceiver


def careful(simulator: Simulator) -> Answer:
    """Answers as a service should, by libraries other than ours: checks the signature, then the question."""
    slack = SignatureVerifier(simulator.secrets["slack/signing_secret"])
    discord = VerifyKey(bytes.fromhex(simulator.secrets["discord/public_key"]))

    def reply(call: Request) -> Response:
        if call.path == "/webhooks/whatsapp":
            valid = call.query["hub.verify_token"] == simulator.secrets["whatsapp/verify_token"]
            return Response(200, call.query["hub.challenge"].encode()) if valid else Response(401)
        question = call.json
        if call.path == "/webhooks/matrix/_matrix/app/v1/ping":
            valid = call.headers["authorization"] == f"Bearer {simulator.secrets['matrix/webhook_secret']}"
            return json_response({}) if valid else Response(401)
        if call.path == "/webhooks/slack":
            valid = slack.is_valid_request(call.body, dict(call.headers))
            return json_response({"challenge": question["challenge"]}) if valid else Response(401)
        signature = bytes.fromhex(call.headers["x-signature-ed25519"])
        try:
            discord.verify(call.headers["x-signature-timestamp"].encode() + call.body, signature)
        except BadSignatureError:
            return Response(401)
        return json_response({"type": 1})

    return reply


@pytest.mark.parametrize("platform", ["slack", "discord", "matrix", "whatsapp"])
def test_a_verifying_webhook_is_accepted(simulator: Simulator, receiver: WebhookReceiver, platform: Any) -> None:
    receiver.answer(careful(simulator))
    simulator.webhook_url = receiver.url
    assert simulator.verify(platform).ok


@pytest.mark.parametrize("platform", ["slack", "discord", "whatsapp"])
def test_a_webhook_that_accepts_everything_is_rejected(
    simulator: Simulator, receiver: WebhookReceiver, platform: Any
) -> None:
    receiver.answer(json_response({"type": 1}))
    simulator.webhook_url = receiver.url
    assert not simulator.verify(platform).ok


@pytest.mark.parametrize("platform", [chat.name for chat in CHATS])
def test_without_a_webhook_verification_fails(simulator: Simulator, platform: Any) -> None:
    assert not simulator.verify(platform).ok


def test_an_unreachable_webhook_is_reported(simulator: Simulator, receiver: WebhookReceiver) -> None:
    url = receiver.url
    receiver.stop()
    simulator.webhook_url = url
    assert simulator.verify("discord").detail == "PING was answered with None, a forged one with None"
    assert not simulator.verify("slack").ok
