"""Interactions and events of the Gateway of every kind, as Discord and our relay post them."""

from collections.abc import Mapping
from typing import Any

from nacl.signing import SigningKey

from local.chats.discord import CHAT
from shared.platforms.discord.signatures import relay_headers
from tests.support.hostile_webhooks import SAID, Samples

HOME, DIRECT, THREAD = CHAT.homes["owner"], "6003000000000000003", "6005000000000000005"
GUILD, APPLICATION = "8001000000000000001", CHAT.people["bot"]
OWNER = {
    "id": CHAT.people["owner"],
    "username": "olivia",
    "global_name": "Olivia",
    "discriminator": "0",
    "avatar": None,
}
BOT = {"id": APPLICATION, "username": "handoff", "bot": True}
MEMBER: dict[str, Any] = {"user": OWNER, "roles": [], "permissions": "0", "nick": None}


def sign(secrets: Mapping[str, str], raw: bytes, now: int) -> dict[str, str]:
    signed = SigningKey(bytes.fromhex(secrets["discord/signing_seed"])).sign(str(now).encode() + raw)
    return {"X-Signature-Ed25519": signed.signature.hex(), "X-Signature-Timestamp": str(now)}


def sign_as_relay(secrets: Mapping[str, str], raw: bytes, now: int) -> Mapping[str, str]:
    return relay_headers(secrets["discord/relay_secret"], raw, now=now * 1000)


def _snowflake(number: int) -> str:
    return str(7_000_000_000_000_000_000 + number)


def events(number: int) -> list[dict[str, Any]]:
    direct = {
        "id": _snowflake(number),
        "channel_id": DIRECT,
        "author": OWNER,
        "type": 0,
        "content": SAID,
        "timestamp": "2026-11-16T09:26:01.123000+00:00",
        "mentions": [],
        "attachments": [],
        "embeds": [],
        "flags": 0,
    }
    shared = {**direct, "channel_id": HOME, "guild_id": GUILD, "member": {**MEMBER, "user": None}}
    file = {"id": "1", "filename": "a.py", "size": 12, "url": "https://cdn.discordapp.com/a.py"}
    messages: list[dict[str, Any]] = [
        shared,
        {**shared, "channel_id": THREAD},
        {**shared, "content": f"<@{APPLICATION}> go on", "mentions": [BOT]},
        {**shared, "type": 19, "referenced_message": direct},
        {**shared, "attachments": [file]},
        {**shared, "content": "", "sticker_items": [{"id": "1", "name": "s", "format_type": 1}]},
        {**shared, "content": "", "message_reference": {"type": 1}, "message_snapshots": [{"message": direct}]},
        {**shared, "type": 18, "content": "A thread"},
        {**shared, "author": BOT},
        {**shared, "webhook_id": "1"},
    ]
    return [
        {"t": "MESSAGE_CREATE", "d": direct, "direct": True},
        *({"t": "MESSAGE_CREATE", "d": message, "direct": False} for message in messages),
        {"t": "MESSAGE_UPDATE", "d": {**direct, "edited_timestamp": "2026-11-16T09:27:01.123000+00:00"}},
        {"t": "MESSAGE_DELETE", "d": {"id": "1", "channel_id": DIRECT}},
        {"t": "GUILD_MEMBER_ADD", "d": {**MEMBER, "guild_id": GUILD}},
        {"t": "THREAD_CREATE", "d": {"id": THREAD, "type": 11, "parent_id": HOME, "name": "A thread"}},
        {"t": "OF_THE_FUTURE", "d": [direct]},
        *({"t": "INTERACTION_CREATE", "d": interaction} for interaction in interactions(number)),
    ]


def interactions(number: int) -> list[dict[str, Any]]:
    about = {
        "id": _snowflake(number),
        "application_id": APPLICATION,
        "token": "interaction-token",
        "version": 1,
        "channel_id": DIRECT,
        "channel": {"id": DIRECT, "type": 1},
        "user": OWNER,
        "context": 1,
        "locale": "en-GB",
    }
    in_server = {**about, "guild_id": GUILD, "channel_id": HOME, "member": MEMBER, "user": None, "context": 0}

    buttons = [{"type": 2, "style": 1, "label": "Go", "custom_id": "go", "id": 2}]
    asked = {"id": THREAD, "content": "May I?", "author": BOT, "components": [{"type": 1, "components": buttons}]}

    def command(name: str, *values: Any) -> dict[str, Any]:
        return {"name": name, "type": 1, "options": [{"name": "text", "type": 3, "value": value} for value in values]}

    return [
        {**about, "type": 2, "data": command("say", SAID)},
        {**in_server, "type": 2, "data": command("say", SAID)},
        {**in_server, "type": 2, "data": command("resume", "Fix it")},
        {**about, "type": 2, "data": command("status")},
        {**about, "type": 2, "data": command("dance")},
        {**about, "type": 2, "data": {"name": "Quote", "type": 3, "target_id": "1", "resolved": {"messages": {}}}},
        {**in_server, "type": 3, "data": {"custom_id": "go", "component_type": 2, "id": 2}, "message": asked},
        {**about, "type": 3, "data": {"custom_id": "go", "component_type": 2, "id": 2}, "message": asked},
        {**about, "type": 3, "data": {"custom_id": "go", "component_type": 3, "values": ["a"]}, "message": asked},
        {**about, "type": 4, "data": command("resume", "F")},
        {**about, "type": 5, "data": {"custom_id": "form", "components": []}},
        {"id": "1", "application_id": APPLICATION, "type": 1, "version": 1},
        {**about, "type": 99, "data": None},
    ]


SAMPLES = (Samples(CHAT.name, sign_as_relay, events), Samples(CHAT.name, sign, interactions))
