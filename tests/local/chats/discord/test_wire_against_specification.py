"""The simulated Discord, checked against its published OpenAPI description."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import discord
import httpx
import jsonschema
import pytest
from discord.http import Route

from local.chats.discord.wire.api import Discord
from local.chats.simulator import Simulator
from shared.platforms.discord.slash_commands import SLASH_COMMANDS

SCHEMAS = json.loads((Path(__file__).parent / "schemas.json").read_text())
HOME, FORUM, DIRECT = "6001000000000000001", "6002000000000000002", "6003000000000000003"
APPLICATION = "9001000000000000001"


def check(name: str, value: Any) -> None:
    schema = {**SCHEMAS, "$ref": f"#/components/schemas/{name}"}
    jsonschema.Draft202012Validator(schema).validate(value)


@pytest.fixture
def http(simulator: Simulator) -> httpx.Client:
    headers = {"Authorization": f"Bot {simulator.secrets['discord/bot_token']}"}
    return httpx.Client(base_url=simulator.api_url("discord"), headers=headers)


def test_the_check_can_fail() -> None:
    with pytest.raises(jsonschema.ValidationError):
        check("MessageResponse", {"id": "1"})


@pytest.mark.parametrize(
    ("path", "schema"),
    [
        ("/users/@me", "UserPIIResponse"),
        ("/applications/@me", "PrivateApplicationResponse"),
        ("/gateway/bot", "GatewayBotResponse"),
        (f"/channels/{HOME}", "GuildChannelResponse"),
        (f"/channels/{FORUM}", "GuildChannelResponse"),
        (f"/channels/{DIRECT}", "PrivateChannelResponse"),
        ("/channels/1", "ErrorResponse"),
    ],
)
def test_reads_match_the_specification(http: httpx.Client, path: str, schema: str) -> None:
    with http:
        check(schema, http.get(path).json())


@pytest.mark.parametrize("forwarded", [False, True])
@pytest.mark.parametrize("kind", Discord.attachments)
def test_attachments_match_the_specification(
    simulator: Simulator, http: httpx.Client, kind: str, *, forwarded: bool
) -> None:
    message = simulator.say("discord", HOME, "look", attachments=[kind], forwarded=forwarded)
    with http:
        shown = http.get(f"/channels/{HOME}/messages/{message}").json()
    if forwarded:  # the description knows the snapshots, but not yet the kind of the reference to their message
        reference = shown["message_reference"]
        assert reference["type"] == discord.MessageReferenceType.forward.value
        reference["type"] = discord.MessageReferenceType.default.value
    check("MessageResponse", shown)


def test_messages_and_threads_match_the_specification(http: httpx.Client) -> None:
    with http:
        seed = http.post(f"/channels/{HOME}/messages", json={"content": "<@7001000000000000001>", "nonce": "a"}).json()
        check("MessageResponse", seed)
        thread = http.post(f"/channels/{HOME}/messages/{seed['id']}/threads", json={"name": "Tea"}).json()
        check("ThreadResponse", thread)
        check("MessageResponse", http.get(f"/channels/{HOME}/messages/{seed['id']}").json())
        button = {"type": 2, "style": 1, "label": "Allow", "custom_id": "allow"}
        rows = [{"type": 1, "components": [button, {**button, "style": 4, "custom_id": "deny"}]}]
        asked = http.post(f"/channels/{HOME}/messages", json={"content": "May I?", "components": rows}).json()
        assert [component["custom_id"] for component in asked["components"][0]["components"]] == ["allow", "deny"]
        check("MessageResponse", asked)
        check("MessageResponse", http.patch(f"/channels/{HOME}/messages/{seed['id']}", json={"content": "x"}).json())
        check("CreatedThreadResponse", http.post(f"/channels/{HOME}/threads", json={"name": "x", "type": 11}).json())
        post = http.post(f"/channels/{FORUM}/threads", json={"name": "x", "message": {"content": "y"}}).json()
        check("CreatedThreadResponse", post)
        check("MessageResponse", post["message"])
        check("ThreadResponse", http.get(f"/channels/{thread['id']}").json())
        for command in http.put(f"/applications/{APPLICATION}/commands", json=SLASH_COMMANDS).json():
            check("ApplicationCommandResponse", command)


def test_errors_match_the_specification(simulator: Simulator, http: httpx.Client) -> None:
    with http:
        # Form errors name their inner codes as words, in Discord's guides and on the wire; the description says numbers.
        check("Error", http.post(f"/channels/{HOME}/messages", json={"content": "x" * 2001}).json())
        check("Error", http.post(f"/channels/{HOME}/threads", json={"name": ""}).json())
        check("ErrorResponse", http.patch(f"/channels/{HOME}/messages/1", json={"content": "x"}).json())
        simulator.arm("discord", "forbidden")
        check("ErrorResponse", http.post(f"/channels/{HOME}/messages", json={"content": "x"}).json())
        simulator.arm("discord", "rate_limit")
        limited = http.post(f"/channels/{HOME}/messages", json={"content": "x"}).json()
        check("RatelimitedResponse", {"code": 0, **limited})  # Discord's guide has the code on some limits only


def test_recorded_calls_match_the_specification(simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Route, "BASE", simulator.api_url("discord"))  # the SDK has no other way to name its server

    async def run() -> None:
        async with discord.Client(intents=discord.Intents.none()) as client:
            await client.login(simulator.secrets["discord/bot_token"])
            channel = await client.fetch_channel(int(HOME))
            assert isinstance(channel, discord.TextChannel)
            message = await channel.send("hello", nonce="abc")
            await message.edit(content="there")
            await message.create_thread(name="Tea")

    asyncio.run(run())
    schemas = {
        "POST .*/messages": "MessageCreateRequest",
        "PATCH .*/messages/[0-9]+": "MessageEditRequestPartial",
        "POST .*/messages/[0-9]+/threads": "CreateTextThreadWithMessageRequest",
    }
    for name, schema in schemas.items():
        (call,) = (call for call in simulator.calls if re.fullmatch(name, call.name))
        check(schema, call.arguments)
