"""Callbacks and forms of every kind, as Slack sends them."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus

from local.chats.slack import CHAT
from tests.support.hostile_webhooks import SAID, Json, Samples, as_json

HOME, DIRECT = CHAT.homes["owner"], "D0OWNER"
OWNER, BOT = CHAT.people["owner"], CHAT.people["bot"]
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
THREAD = "1789999999.000001"


def sign(secrets: Mapping[str, str], raw: bytes, now: int) -> dict[str, str]:
    base = b"v0:" + str(now).encode() + b":" + raw
    digest = hmac.new(secrets["slack/signing_secret"].encode(), base, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(now), "X-Slack-Signature": f"v0={digest}"}


def callbacks(number: int) -> list[dict[str, Any]]:
    ts = f"{number}.000100"
    blocks = [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": []}]}]
    said = {"type": "message", "user": OWNER, "text": SAID, "ts": ts, "team": "T0HANDOFF", "blocks": blocks}
    direct = {**said, "channel": DIRECT, "channel_type": "im", "event_ts": ts}
    shared = {**said, "channel": HOME, "channel_type": "channel", "event_ts": ts}
    hidden = {"type": "message", "hidden": True, "channel": HOME, "ts": ts, "event_ts": ts, "previous_message": said}
    file = {"id": "F1", "name": "a.py", "mimetype": "text/x-python", "url_private": "https://files.slack.com/a.py"}
    events: list[dict[str, Any]] = [
        direct,
        {**direct, "thread_ts": THREAD, "parent_user_id": BOT},
        shared,
        {**shared, "thread_ts": THREAD},
        {**shared, "type": "app_mention", "text": f"<@{BOT}> go on &amp; <https://e.org|look>"},
        {**shared, "subtype": "thread_broadcast", "thread_ts": THREAD, "root": said},
        {**direct, "subtype": "file_share", "files": [file], "upload": False},
        {**direct, "text": "", "attachments": [{"is_share": True, "text": SAID, "files": [file]}]},
        {**direct, "channel_type": "mpim", "channel": "G0GROUP"},
        {**shared, "bot_id": "B0HANDOFF", "bot_profile": {"id": "B0HANDOFF", "name": "handoff"}},
        {**shared, "subtype": "channel_join", "inviter": OWNER},
        {**hidden, "subtype": "message_changed", "message": {**said, "edited": {"user": OWNER, "ts": ts}}},
        {**hidden, "subtype": "message_deleted", "deleted_ts": ts},
        {"type": "member_joined_channel", "user": OWNER, "channel": HOME, "channel_type": "C", "team": "T0HANDOFF"},
        {
            "type": "reaction_added",
            "user": OWNER,
            "reaction": "+1",
            "item": {"type": "message", "channel": HOME, "ts": ts},
        },
        {"type": "app_home_opened", "user": OWNER, "channel": DIRECT, "tab": "home", "view": {"id": "V1"}},
        {"type": "of_the_future", "channel": {"id": HOME}},
    ]
    ours = {"enterprise_id": None, "team_id": "T0HANDOFF", "user_id": BOT, "is_bot": True}
    about = {"type": "event_callback", "team_id": "T0HANDOFF", "event_id": f"Ev{number}", "authorizations": [ours]}
    return [
        *({**about, "event": event} for event in events),
        {"type": "url_verification", "token": "t", "challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"},
        {"type": "app_rate_limited", "team_id": "T0HANDOFF", "minute_rate_limited": 1},
    ]


def forms(number: int) -> list[dict[str, Any]]:
    command = {
        "command": "/status",
        "text": "",
        "channel_id": DIRECT,
        "channel_name": "directmessage",
        "user_id": OWNER,
        "user_name": "olivia",
        "trigger_id": f"{number}.2.a",
        "response_url": "https://hooks.slack.com/commands/1",
    }
    return [
        command,
        {**command, "command": "/resume", "text": "Fix it", "channel_id": HOME},
        *({"payload": json.dumps(press)} for press in presses(number)),
    ]


def presses(number: int) -> list[dict[str, Any]]:
    """The contents of the field `payload`."""
    ts = f"{number}.000200"
    label = {"type": "plain_text", "text": "Go", "emoji": False}
    button = {"type": "button", "action_id": "go", "block_id": "b1", "text": label, "value": "go", "action_ts": ts}
    direct = {"type": "message", "message_ts": THREAD, "channel_id": DIRECT, "is_ephemeral": False}
    pressed = {
        "type": "block_actions",
        "user": {"id": OWNER, "username": "olivia", "team_id": "T0HANDOFF"},
        "container": direct,
        "channel": {"id": DIRECT, "name": "directmessage"},
        "message": {"type": "message", "user": BOT, "ts": THREAD, "text": "May I?"},
        "trigger_id": f"{number}.2.a",
        "response_url": "https://hooks.slack.com/actions/T0HANDOFF/1/a",
        "actions": [button],
        "state": {"values": {}},
    }
    in_thread = {**direct, "channel_id": HOME, "message_ts": ts, "thread_ts": THREAD}
    return [
        pressed,
        {**pressed, "container": in_thread},
        {**pressed, "response_url": "http://169.254.169.254/latest/meta-data"},
        {**pressed, "actions": [{**button, "type": "static_select", "selected_option": {"value": "x"}}]},
        {**pressed, "container": {"type": "view", "view_id": "V1"}},
        {"type": "view_submission", "user": {"id": OWNER}, "view": {"id": "V1"}},
    ]


def as_payload(value: Json) -> bytes:
    """A form with one field, whose JSON holds the changed values."""
    return b"payload=" + quote_plus(as_json(value).decode(errors="replace")).encode()


def as_form(value: Json) -> bytes:
    """A form of the fields; what is not text is its JSON. Half an emoji is escaped byte by byte."""
    if not isinstance(value, dict):
        return as_json(value)
    texts = {str(getattr(name, "name", name)): inner for name, inner in value.items()}
    pairs = [(name, inner if isinstance(inner, str) else as_json(inner).decode()) for name, inner in texts.items()]
    return "&".join("=".join(quote_plus(text, errors="surrogatepass") for text in pair) for pair in pairs).encode()


SAMPLES = (Samples(CHAT.name, sign, callbacks), Samples(CHAT.name, sign, forms, as_form, FORM))
PRESSES = Samples(CHAT.name, sign, presses, as_payload, FORM)
