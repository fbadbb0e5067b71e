"""Telegram in tests of the whole service."""

import re
from typing import Any

from local.chats.telegram import CHAT
from tests.shared.platforms.telegram.samples import SAMPLES, sign
from tests.support.platform_case import PlatformCase, SignedWebhook

HOME, FORUM = CHAT.homes["owner"], "-1001000000001"
OWNER = {"id": int(CHAT.people["owner"]), "is_bot": False, "first_name": "O"}
GROUP = {"id": int(FORUM), "type": "supergroup", "is_forum": True}
SAID = {"message_id": 880001, "date": 1, "chat": GROUP, "text": "let me in"}


def update(number: int, text: str, *, person: str = CHAT.people["owner"], **more: Any) -> dict[str, Any]:
    """A message of a person in their private chat with the bot."""
    message = {
        "message_id": number,
        "date": 1,
        "chat": {"id": int(person), "type": "private", "first_name": "P"},
        "from": {"id": int(person), "is_bot": False, "first_name": "P"},
        "text": text,
        **more,
    }
    return {"update_id": number, "message": message}


IGNORED: dict[str, dict[str, Any]] = {
    "no sender": {"message": SAID},
    "anonymous admin": {
        "message": {
            **SAID,
            "from": {"id": 1087968824, "is_bot": True, "first_name": "Group"},
            "sender_chat": GROUP,
        }
    },
    "channel": {
        "message": {
            **SAID,
            "from": {"id": 136817688, "is_bot": True, "first_name": "Channel"},
            "sender_chat": {"id": -1009, "type": "channel"},
        }
    },
    "forwarded post": {
        "message": {
            **SAID,
            "from": {"id": 777000, "is_bot": False, "first_name": "T"},
            "is_automatic_forward": True,
        }
    },
    "bot": {"message": {**SAID, "from": {**OWNER, "is_bot": True}}},
    "sender without a kind": {"message": {**SAID, "from": {"id": OWNER["id"]}}},
    "edit": {"edited_message": {**SAID, "from": OWNER, "edit_date": 2}},
    "channel post": {"channel_post": {**SAID, "sender_chat": GROUP}},
    "new topic": {"message": {**SAID, "from": OWNER, "text": None, "forum_topic_created": {"name": "x"}}},
    "click": {"callback_query": {"id": "1", "from": OWNER, "data": "/new"}},
    "text of another type": {"message": {**SAID, "from": OWNER, "text": {"a": 1}}},
    "malformed sender id": {"message": {**SAID, "from": {**OWNER, "id": "7001; drop"}}},
}
CASE = PlatformCase(
    name="telegram",
    threaded_chats={"private chat with topics": HOME, "forum": FORUM},
    mention=re.compile(r"(?<![\w\u2060])@[A-Za-z]\w{3,}"),
    webhooks={"telegram": SignedWebhook("telegram", sign, update, timestamp=False)},
    samples=SAMPLES,
    ignored={name: {"update_id": 1, **body} for name, body in IGNORED.items()},
)
