"""Slash commands of the simulated Discord: signatures, answers, follow-ups."""

import httpx
import pytest
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from local.chats.simulator import Simulator
from tests.support.servers import Response, json_response
from tests.support.waiting import eventually
from tests.support.webhook_receiver import WebhookReceiver

HOME, DIRECT = "6001000000000000001", "6003000000000000003"
APPLICATION = "9001000000000000001"


def messages(simulator: Simulator, chat: str = HOME) -> list[str]:
    state = next(c for c in simulator.state()["platforms"]["discord"]["chats"] if c["id"] == chat)
    return [m["text"] for m in state["messages"]]


def test_a_command_has_a_valid_signature(simulator: Simulator, receiver: WebhookReceiver) -> None:
    receiver.answer(json_response({"type": 4, "data": {"content": "Received"}}))
    simulator.webhook_url = receiver.url
    simulator.say("discord", HOME, "/say hello there")
    call = receiver.next()
    key = VerifyKey(bytes.fromhex(simulator.secrets["discord/public_key"]))
    signed = call.headers["x-signature-timestamp"].encode() + call.body
    signature = bytes.fromhex(call.headers["x-signature-ed25519"])
    key.verify(signed, signature)
    with pytest.raises(BadSignatureError):
        key.verify(signed + b" ", signature)
    interaction = call.json
    assert (interaction["type"], interaction["channel_id"]) == (2, HOME)
    assert interaction["data"]["name"] == "say"
    assert interaction["data"]["options"] == [{"name": "text", "type": 3, "value": "hello there"}]
    assert interaction["member"]["user"]["id"] == "7001000000000000001"
    assert interaction["application_id"] == APPLICATION
    eventually(lambda: messages(simulator) == ["Received"])


def test_in_direct_messages_the_user_is_at_the_top_level(simulator: Simulator, receiver: WebhookReceiver) -> None:
    simulator.webhook_url = receiver.url
    simulator.say("discord", DIRECT, "/status")
    interaction = receiver.next().json
    assert interaction["user"]["id"] == "7001000000000000001"
    assert "member" not in interaction
    assert "guild_id" not in interaction
    assert "options" not in interaction["data"]


def test_an_answer_can_be_followed_up(simulator: Simulator, receiver: WebhookReceiver) -> None:
    receiver.answer(json_response({"type": 4, "data": {"content": "Here"}}))
    simulator.webhook_url = receiver.url
    simulator.say("discord", HOME, "/resume tea")
    hook = f"{simulator.api_url('discord')}/webhooks/{APPLICATION}"
    token = receiver.next().json["token"]
    eventually(lambda: httpx.post(f"{hook}/{token}", json={"content": "And more"}).status_code == 200)
    assert messages(simulator) == ["Here", "And more"]
    assert httpx.post(f"{hook}/wrong", json={}).json()["code"] == 10015


@pytest.mark.parametrize("answer", [(500, b""), (200, b"not json"), (200, b'{"type": 99}'), (200, b"[]")])
def test_a_missing_response_is_shown_to_the_person(
    simulator: Simulator, receiver: WebhookReceiver, answer: tuple[int, bytes]
) -> None:
    receiver.answer(Response(*answer))
    simulator.webhook_url = receiver.url
    simulator.say("discord", HOME, "/help")
    receiver.next()
    eventually(lambda: messages(simulator) == ["The application did not respond"])
    assert not receiver.unread  # Discord tries once


def test_registered_commands_replace_the_seeded_ones(simulator: Simulator) -> None:
    headers = {"Authorization": f"Bot {simulator.secrets['discord/bot_token']}"}
    url = f"{simulator.api_url('discord')}/applications/{APPLICATION}/commands"
    wanted = [{"name": "ask", "description": "Ask", "options": [{"type": 3, "name": "what", "description": "x"}]}]
    assert [c["name"] for c in httpx.put(url, json=wanted, headers=headers).json()] == ["ask"]
    simulator.say("discord", HOME, "/help is only text now")
    assert messages(simulator) == ["/help is only text now"]
