"""Transactions and notices of every kind, as a homeserver sends them."""

from collections.abc import Mapping
from typing import Any

from local.chats.matrix import CHAT, SERVER
from tests.support.hostile_webhooks import SAID, Samples

HOME, DIRECT = CHAT.homes["owner"], f"!olivia:{SERVER}"
OWNER, STRANGER, BOT = (CHAT.people[key] for key in ("owner", "stranger", "bot"))
ROOT = "$wAeyLEAoZQHTi0CXBLDcJoV90DIh-DJMpaVUtGhoSd4"
THREAD = {"rel_type": "m.thread", "event_id": ROOT, "is_falling_back": True, "m.in_reply_to": {"event_id": ROOT}}


def sign(secrets: Mapping[str, str], _raw: bytes, _now: int) -> dict[str, str]:
    return {"Authorization": f"Bearer {secrets['matrix/webhook_secret']}"}


def event(number: int, text: str = SAID, /, **content: Any) -> dict[str, Any]:
    """A message of the owner in the direct room."""
    return {
        "type": "m.room.message",
        "room_id": DIRECT,
        "sender": OWNER,
        "event_id": f"$sample-{number}",
        "origin_server_ts": 1_790_000_000_000 + number,
        "content": {"msgtype": "m.text", "body": text, "m.mentions": {}, **content},
        "unsigned": {"age": 12, "membership": "join"},
    }


def invitation(room: str = HOME, state_key: str = BOT) -> dict[str, Any]:
    return {
        "type": "m.room.member",
        "room_id": room,
        "sender": OWNER,
        "state_key": state_key,
        "event_id": "$invitation",
        "origin_server_ts": 1_790_000_000_000,
        "content": {"membership": "invite", "is_direct": True},
    }


def events(number: int) -> list[dict[str, Any]]:
    said = event(number)
    return [
        said,
        {**event(number, SAID, **{"m.relates_to": THREAD}), "room_id": HOME},
        event(number, "!status"),
        event(number, "> <@sam:chat.test> and?\n\nyes", **{"m.relates_to": {"m.in_reply_to": {"event_id": ROOT}}}),
        event(number, format="org.matrix.custom.html", formatted_body="<b>and</b>"),
        event(number, "* fixed", **{"m.relates_to": {"rel_type": "m.replace", "event_id": ROOT}}),
        event(number, "cat.png", msgtype="m.image", url="mxc://chat.test/cat"),
        event(number, "beep", msgtype="m.notice"),
        {**event(number, "ours", **{"live.handoff.key": "1"}), "sender": BOT},
        {**said, "type": "m.room.encrypted", "content": {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgA"}},
        invitation(),
        invitation(state_key=STRANGER),
        {**said, "type": "m.reaction", "content": {"m.relates_to": {"rel_type": "m.annotation", "key": "👍"}}},
        {**said, "type": "m.room.redaction", "redacts": ROOT, "content": {"redacts": ROOT}},
        {**said, "type": "m.room.name", "state_key": "", "content": {"name": "Agents"}},
        {**said, "content": {}},
        {**said, "type": "m.sticker", "content": {"body": "Wave", "url": "mxc://chat.test/wave"}},
        event(number, "look", msgtype="m.image", url="mxc://chat.test/cat", filename="cat.png"),
    ]


def transactions(number: int) -> list[dict[str, Any]]:
    every = events(number)
    return [
        *({"events": [one]} for one in every),
        {"events": every[:4]},
        {"events": []},
        {"events": [], "ephemeral": []},
    ]


SAMPLES = (
    Samples(CHAT.name, sign, transactions, method="PUT", rest="/_matrix/app/v1/transactions/1"),
    Samples(CHAT.name, sign, transactions),
)
