"""All requests to Discord match its published OpenAPI description."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from local.chats.discord.register_commands import register
from local.chats.simulator import Simulator
from shared.domain.routes import Place
from shared.platforms.discord.adapter import Discord
from shared.platforms.discord.slash_commands import SLASH_COMMANDS
from shared.ports.inbound import WebhookRequest
from shared.ports.platforms import MOST_BUTTONS, Button, Part
from tests.support.servers import json_response
from tests.support.waiting import eventually
from tests.support.webhook_receiver import WebhookReceiver
from tests.support.webhooks import press_in

TEXT, FORUM = "6001000000000000001", "6002000000000000002"
OWNER = "7001000000000000001"
FILES = (
    Path(__file__).parents[3] / "local" / "chats" / "discord" / "schemas.json",
    Path(__file__).parent / "schemas.json",
)
SCHEMAS: dict[str, Any] = {}
for _file in FILES:
    SCHEMAS |= json.loads(_file.read_text())["components"]["schemas"]

REQUESTS = {
    "POST /channels/{channel}/messages": "MessageCreateRequest",
    "PATCH /channels/{channel}/messages/{message}": "MessageEditRequestPartial",
    "POST /channels/{channel}/messages/{message}/threads": "CreateTextThreadWithMessageRequest",
}


def check(name: str, value: Any) -> None:
    schema = {"components": {"schemas": SCHEMAS}, "$ref": f"#/components/schemas/{name}"}
    jsonschema.Draft202012Validator(schema).validate(value)


def sent(simulator: Simulator, name: str) -> list[Any]:
    form = re.compile(re.sub(r"{\w+}", "[^/]+", name.replace(" ", " /discord/api/v10", 1)))
    return [call.arguments for call in simulator.calls if form.fullmatch(call.name)]


def test_requests_for_threads_and_messages_match_the_schema(simulator: Simulator, discord: Discord) -> None:
    thread = discord.open_thread(Place("discord", TEXT), "Fix the build", key="h1", people=[OWNER])
    message = discord.send(thread, Part("hello"), key="t1#0")
    discord.edit(thread, message, Part("hello there"))
    many = tuple(Button(f"{number:064}", "word " * 40, "danger") for number in range(MOST_BUTTONS))
    for part in (
        Part("May I?", buttons=many),
        Part("May I?", buttons=(Button("a", "Allow", "primary"),)),
        Part("Done"),
    ):
        discord.edit(thread, discord.send(thread, part, key=f"{len(part.buttons)}"), part)
    for name, schema in REQUESTS.items():
        bodies = sent(simulator, name)
        assert bodies
        for body in bodies:
            check(schema, body)


def test_a_request_for_a_thread_without_seed_matches_the_schema(simulator: Simulator, discord: Discord) -> None:
    simulator.arm("discord", "forbidden", 1, on="send")
    discord.open_thread(Place("discord", TEXT), "Fix the build", key="h1", people=[])
    (body,) = sent(simulator, "POST /channels/{channel}/threads")
    check("CreateTextThreadWithoutMessageRequest", body)


def test_a_request_for_a_forum_post_matches_the_schema(simulator: Simulator, discord: Discord) -> None:
    discord.open_thread(Place("discord", FORUM), "Fix the build", key="h1", people=[])
    (body,) = sent(simulator, "POST /channels/{channel}/threads")
    check("CreateForumThreadRequest", body)


@pytest.mark.parametrize("command", SLASH_COMMANDS, ids=lambda command: command["name"])
def test_registered_commands_match_the_schema(command: dict[str, Any]) -> None:
    check("ApplicationCommandUpdateRequest", json.loads(json.dumps(command)))


def test_every_registered_command_is_parsed(simulator: Simulator, discord: Discord) -> None:
    asyncio.run(register(simulator.secrets["discord/bot_token"], api_url=simulator.api_url("discord")))
    for command in SLASH_COMMANDS:
        options = [{"name": option["name"], "type": 3, "value": "words"} for option in command["options"]]
        event = {
            "type": 2,
            "id": "1334385200000000001",
            "channel_id": TEXT,
            "user": {"id": OWNER},
            "data": {"name": command["name"], "options": options},
        }
        parsed = discord.parse(WebhookRequest(json.dumps(event).encode(), {"x-signature-ed25519": "verified before"}))
        assert len(parsed.events) == 1
        assert parsed.answer is not None
        check("CreateMessageInteractionCallbackRequest", parsed.answer.body)


def test_a_pong_matches_the_schema(discord: Discord) -> None:
    parsed = discord.parse(WebhookRequest(b'{"type":1}', {"x-signature-ed25519": "verified before"}))
    assert parsed.answer is not None
    check("PongInteractionCallbackRequest", parsed.answer.body)


def test_the_check_can_fail() -> None:
    with pytest.raises(jsonschema.ValidationError):
        check("MessageCreateRequest", {"content": "x", "nonce": "x" * 26})


def test_answers_to_presses_match_the_schema(simulator: Simulator, discord: Discord, receiver: WebhookReceiver) -> None:
    receiver.answer(json_response({"type": 6}))
    simulator.webhook_url = receiver.url
    message = discord.send(Place("discord", TEXT), Part("May I?", buttons=(Button("a", "Allow"),)), key="a")
    simulator.press("discord", TEXT, message, "a")
    request = receiver.next()
    eventually(lambda: [attempt for attempt in simulator.attempts if attempt.status == 200])

    discord.acknowledge(press_in(discord.parse(WebhookRequest(request.body, request.headers))), "Allowed.")

    (callback,) = sent(simulator, "POST /interactions/{id}/{token}/callback")
    check("CreateMessageInteractionCallbackRequest", callback)
    (follow_up,) = sent(simulator, "POST /webhooks/{application}/{token}")
    check("IncomingWebhookInteractionRequest", follow_up)
