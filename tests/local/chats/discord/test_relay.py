"""Discord's relay forwards every message, also those written before it started."""

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from local.chats.simulator import Simulator
from shared.domain.routes import Place
from shared.platforms.discord.adapter import Discord
from shared.ports.inbound import Pressed, WebhookRequest
from shared.ports.platforms import Button, Part
from shared.settings import Settings
from tests.local.chats.relays.under_test import Relaying, texts
from tests.support.secrets import FakeSecrets
from tests.support.servers import WAIT_SECONDS, Request, Response, json_response
from tests.support.waiting import eventually
from tests.support.webhook_receiver import WebhookReceiver
from tests.support.webhooks import message_in, press_in

TEXT, FORUM, DIRECT = "6001000000000000001", "6002000000000000002", "6003000000000000003"
OWNER = "7001000000000000001"
CALLBACK = re.compile("POST .*/interactions/[^/]+/[^/]+/callback")


@pytest.fixture
def platform() -> str:
    return "discord"


@pytest.fixture
def discord(simulator: Simulator) -> Iterator[Discord]:
    settings = Settings(
        "handoffs", "sessions", "turns", platform_urls={"discord": {"api": simulator.api_url("discord")}}
    )
    adapter = Discord(settings, FakeSecrets(simulator.secrets))
    yield adapter
    adapter.close()


def discord_chat(simulator: Simulator, home: str) -> dict[str, Any]:
    found: dict[str, Any] = next(c for c in simulator.state()["platforms"]["discord"]["chats"] if c["id"] == home)
    return found


@pytest.mark.parametrize("home", [TEXT, FORUM])
def test_a_reply_arrives_with_the_place_of_its_thread(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, discord: Discord, home: str
) -> None:
    thread = discord.open_thread(Place("discord", home), "Fix the build", key="h1", people=[OWNER])
    discord.send(thread, Part("I am here"), key="t1#0")
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say("discord", home, "is it ☕ time?", thread=thread.chat)
        (posted,) = receiver.accepted(1)
    assert posted.path == "/webhooks/discord"
    assert discord.verify(WebhookRequest(posted.body, posted.headers), now=int(time.time() * 1000))
    message = message_in(discord.parse(WebhookRequest(posted.body, posted.headers)))
    assert (message.place, message.sender, message.text) == (thread, OWNER, "is it ☕ time?")


def test_a_direct_message_arrives(simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying) -> None:
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say("discord", DIRECT, "hello")
        assert texts(receiver.accepted(1)) == ["hello"]


def test_earlier_messages_are_fetched_at_the_start(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, discord: Discord
) -> None:
    thread = discord.open_thread(Place("discord", TEXT), "Fix the build", key="h1", people=[OWNER])
    simulator.say("discord", TEXT, "in the channel")
    simulator.say("discord", TEXT, "in the thread", thread=thread.chat)
    with relaying():
        assert sorted(texts(receiver.accepted(2))) == ["in the channel", "in the thread"]


def test_a_closed_connection_is_resumed_without_loss(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying
) -> None:
    said = [f"{when} {number}" for number in range(3) for when in ("before", "after")]
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        for number in range(3):
            simulator.say("discord", TEXT, f"before {number}")
            simulator.disconnect("discord")
            simulator.say("discord", TEXT, f"after {number}")
        assert texts(receiver.accepted(6)) == said


def test_a_slash_command_over_the_gateway_is_answered(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, discord: Discord
) -> None:
    receiver.answer(json_response({"type": 4, "data": {"content": "> go on, please"}}))
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say("discord", TEXT, "/say go on, please")
        simulator.say("discord", TEXT, "and this")
        posted, _ = receiver.accepted(2)
        message = message_in(discord.parse(WebhookRequest(posted.body, posted.headers)))
        assert (message.place, message.sender, message.text) == (Place("discord", TEXT), OWNER, "go on, please")
    shown = [m["text"] for m in discord_chat(simulator, TEXT)["messages"]]
    assert sorted(shown) == ["> go on, please", "and this"]


def test_an_invalid_answer_does_not_block_later_events(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying
) -> None:
    receiver.answer(Response(body=b"not JSON"))
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.say("discord", TEXT, "/say one")
        simulator.say("discord", TEXT, "two")
        _, second = receiver.accepted(2)
    assert texts([second]) == ["two"]


def test_messages_of_the_bot_are_not_forwarded(
    simulator: Simulator, receiver: WebhookReceiver, relaying: Relaying, discord: Discord
) -> None:
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        discord.send(Place("discord", TEXT), Part("from the bot"), key="t1#0")
        simulator.say("discord", TEXT, "from a person")
        assert texts(receiver.accepted(1)) == ["from a person"]


@pytest.mark.parametrize("service_answers_first", [True, False])
def test_a_press_over_the_gateway_is_answered(
    simulator: Simulator,
    receiver: WebhookReceiver,
    relaying: Relaying,
    discord: Discord,
    caplog: pytest.LogCaptureFixture,
    *,
    service_answers_first: bool,
) -> None:
    asked = Part("May I?", buttons=(Button("allow", "Allow"),))
    message = discord.send(Place("discord", TEXT), asked, key="t1#0")

    def pressed_in(request: Request) -> Pressed:
        assert discord.verify(WebhookRequest(request.body, request.headers), now=int(time.time() * 1000))
        return press_in(discord.parse(WebhookRequest(request.body, request.headers)))

    def answer(request: Request) -> Response:
        if service_answers_first:
            discord.acknowledge(pressed_in(request), "Allowed.")
        return json_response({"type": 6})

    receiver.answer(answer)
    with relaying() as relay:
        assert relay.connected.wait(WAIT_SECONDS)
        simulator.press("discord", TEXT, message, "allow")
        (posted,) = receiver.accepted(1)
        pressed = pressed_in(posted)
        callbacks = 2 if service_answers_first else 1  # the last one is the relay's
        eventually(lambda: len([call for call in simulator.calls if CALLBACK.fullmatch(call.name)]) == callbacks)
        if not service_answers_first:
            discord.acknowledge(pressed, "Allowed.")
    assert (pressed.button, pressed.message, pressed.sender) == ("allow", message, OWNER)
    assert discord_chat(simulator, TEXT)["messages"][0]["acknowledged"] == [{"to": "owner", "text": "Allowed."}]
    assert "not answered" not in caplog.text
