"""Signed webhooks about what no allowed person said just now: answered, and nothing comes of them."""

import hashlib
import hmac
import json
import time
from typing import Any

import pytest

from shared.platforms.discord.signatures import relay_headers
from tests.journeys.hostile import code_of, settled, written
from tests.support.desk import Desk

OWNER = {"id": 7001, "is_bot": False, "first_name": "O"}
GROUP = {"id": -1001000000001, "type": "supergroup", "is_forum": True}
SAID = {"message_id": 880001, "date": 1, "chat": GROUP, "text": "let me in"}
TELEGRAM: dict[str, dict[str, Any]] = {
    "no sender": {"message": SAID},
    "an anonymous admin": {
        "message": {**SAID, "from": {"id": 1087968824, "is_bot": True, "first_name": "Group"}, "sender_chat": GROUP}
    },
    "a channel": {
        "message": {
            **SAID,
            "from": {"id": 136817688, "is_bot": True, "first_name": "Channel"},
            "sender_chat": {"id": -1009, "type": "channel"},
        }
    },
    "a forwarded post": {
        "message": {**SAID, "from": {"id": 777000, "is_bot": False, "first_name": "T"}, "is_automatic_forward": True}
    },
    "a bot": {"message": {**SAID, "from": {**OWNER, "is_bot": True}}},
    "a sender of no kind": {"message": {**SAID, "from": {"id": 7001}}},
    "an edit": {"edited_message": {**SAID, "from": OWNER, "edit_date": 2}},
    "a channel's post": {"channel_post": {**SAID, "sender_chat": GROUP}},
    "a new topic": {"message": {**SAID, "from": OWNER, "text": None, "forum_topic_created": {"name": "x"}}},
    "a click": {"callback_query": {"id": "1", "from": OWNER, "data": "/new"}},
    "a text that is none": {"message": {**SAID, "from": OWNER, "text": {"a": 1}}},
    "a number that is none": {"message": {**SAID, "from": {**OWNER, "id": "7001; drop"}}},
}
EVENT = {"type": "message", "channel": "C0HOME", "user": "U7001", "ts": "1800000000.000100", "text": "let me in"}
SLACK: dict[str, dict[str, Any]] = {
    "a bot": {"event": {**EVENT, "bot_id": "B1"}},
    "ourselves": {
        "event": {**EVENT, "user": "U9001"},
        "authorizations": [{"user_id": "U9001", "is_bot": True}],
    },
    **{
        kind: {"event": {**EVENT, "subtype": kind}}
        for kind in ("bot_message", "message_changed", "message_deleted", "channel_join", "channel_topic", "tombstone")
    },
    "nobody": {"event": {key: value for key, value in EVENT.items() if key != "user"}},
    "no time": {"event": {**EVENT, "ts": "soon"}},
    "another event": {"event": {**EVENT, "type": "reaction_added"}},
}
AUTHOR = {"id": "7001000000000000001", "username": "olivia"}
MESSAGE = {
    "id": "1500000000000000001",
    "channel_id": "6001000000000000001",
    "author": AUTHOR,
    "type": 0,
    "content": "let me in",
}
DISCORD: dict[str, dict[str, Any]] = {
    "a bot": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "author": {**AUTHOR, "bot": True}}},
    "a webhook": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "webhook_id": "1"}},
    "the system": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "author": {**AUTHOR, "system": True}}},
    "a thread that was opened": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "type": 18}},
    "a pin": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "type": 6}},
    "an edit": {"t": "MESSAGE_UPDATE", "d": MESSAGE},
    "a deletion": {"t": "MESSAGE_DELETE", "d": {"id": "1", "channel_id": "2"}},
    "no content": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "content": ""}},
    "an id that is none": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "id": "x"}},
    "a click": {"t": "INTERACTION_CREATE", "d": {"type": 3, "id": "1", "channel_id": "2", "user": AUTHOR}},
}


def signed(desk: Desk, platform: str, raw: bytes) -> dict[str, str]:
    given, now = desk.service.simulator.secrets, int(time.time())
    if platform == "telegram":
        return {"X-Telegram-Bot-Api-Secret-Token": given["telegram/webhook_secret"]}
    if platform == "discord":
        return dict(relay_headers(given["discord/relay_secret"], raw, now=now * 1000))
    base = b"v0:" + str(now).encode() + b":" + raw
    digest = hmac.new(given["slack/signing_secret"].encode(), base, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(now), "X-Slack-Signature": f"v0={digest}"}


CASES = [
    *(("telegram", name, {"update_id": 1, **body}) for name, body in TELEGRAM.items()),
    *(("slack", name, {"type": "event_callback", **body}) for name, body in SLACK.items()),
    *(("discord", name, body) for name, body in DISCORD.items()),
]


@pytest.mark.parametrize(("platform", "who", "body"), CASES, ids=[f"{case[0]}: {case[1]}" for case in CASES])
def test_what_no_person_said_is_taken_and_dropped(desk: Desk, platform: str, who: str, body: dict[str, Any]) -> None:
    before, raw = settled(desk.service), json.dumps(body).encode()

    answer = desk.http.post(f"/webhooks/{platform}", content=raw, headers=signed(desk, platform, raw))

    assert answer.status_code == 200, who
    assert {key for key in written(desk.service) if "INBOX#" in key} == {key for key in before if "INBOX#" in key}


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord", "matrix", "pigeon"])
@pytest.mark.parametrize(
    "body", [{"type": "url_verification", "challenge": "tell"}, {"type": 1}, {"update_id": 1}, {}], ids=repr
)
def test_a_handshake_without_a_signature_tells_nothing(desk: Desk, platform: str, body: dict[str, Any]) -> None:
    """The same words for every platform, set up or not, known or not."""
    answer = desk.http.post(f"/webhooks/{platform}", json=body)

    assert code_of(answer) == "unauthenticated"
    assert "tell" not in answer.text
    assert answer.json() == desk.http.post("/webhooks/telegram", json={}).json()


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
def test_a_webhook_beyond_the_limit_is_refused_before_it_is_read(desk: Desk, platform: str) -> None:
    raw = b" " * (1024 * 1024 + 1)

    assert code_of(desk.http.post(f"/webhooks/{platform}", content=raw, headers=signed(desk, platform, raw))) == (
        "body_too_large"
    )


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/webhooks/telegram", "/webhooks/telegram/below"])
def test_every_method_and_path_of_a_webhook_is_verified(desk: Desk, method: str, path: str) -> None:
    assert code_of(desk.http.request(method, path, content=b"{}")) == "unauthenticated"
