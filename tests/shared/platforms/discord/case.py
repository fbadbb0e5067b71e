"""Discord in tests of the whole service."""

import re
from typing import Any

from local.chats.discord import CHAT
from tests.shared.platforms.discord.samples import SAMPLES, sign, sign_as_relay
from tests.support.platform_case import PlatformCase, SignedWebhook

HOME, FORUM, DIRECT = CHAT.homes["owner"], "6002000000000000002", "6003000000000000003"
AUTHOR = {"id": CHAT.people["owner"], "username": "olivia"}
MESSAGE = {"id": "1500000000000000001", "channel_id": HOME, "author": AUTHOR, "type": 0, "content": "let me in"}


def interaction(number: int, text: str) -> dict[str, Any]:
    data = {"name": "say", "options": [{"name": "text", "value": text}]}
    return {"type": 2, "id": _snowflake(number), "channel_id": DIRECT, "user": AUTHOR, "data": data}


def relayed(number: int, text: str) -> dict[str, Any]:
    message = {"id": _snowflake(number), "channel_id": DIRECT, "author": AUTHOR, "type": 0, "content": text}
    return {"t": "MESSAGE_CREATE", "d": message}


def _snowflake(number: int) -> str:
    return str(7_000_000_000_000_000_000 + number)


CASE = PlatformCase(
    name="discord",
    threaded_chats={"text channel": HOME, "forum channel": FORUM},
    mention=re.compile(r"<@[!&]?\d|(?<!\w)@(?:everyone|here)\b"),
    own_mentions=(f"-# <@{CHAT.people['owner']}>",),
    opens_threads_with="open_thread",
    webhooks={
        "discord relay": SignedWebhook("discord", sign_as_relay, relayed),
        "discord interactions": SignedWebhook("discord", sign, interaction),
    },
    samples=SAMPLES,
    ignored={
        "bot": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "author": {**AUTHOR, "bot": True}}},
        "webhook": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "webhook_id": "1"}},
        "system": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "author": {**AUTHOR, "system": True}}},
        "thread created": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "type": 18}},
        "pin": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "type": 6}},
        "edit": {"t": "MESSAGE_UPDATE", "d": MESSAGE},
        "deletion": {"t": "MESSAGE_DELETE", "d": {"id": "1", "channel_id": "2"}},
        "no content": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "content": ""}},
        "malformed id": {"t": "MESSAGE_CREATE", "d": {**MESSAGE, "id": "x"}},
        "click": {"t": "INTERACTION_CREATE", "d": {"type": 3, "id": "1", "channel_id": "2", "user": AUTHOR}},
    },
)
