"""Slack in tests of the whole service."""

import re
from typing import Any

from local.chats.slack import CHAT
from tests.shared.platforms.slack.samples import SAMPLES, sign
from tests.support.platform_case import PlatformCase, SignedWebhook

HOME, DIRECT = CHAT.homes["owner"], "D0OWNER"
OWNER, BOT = CHAT.people["owner"], CHAT.people["bot"]
EVENT: dict[str, Any] = {
    "type": "message",
    "channel": HOME,
    "user": OWNER,
    "ts": "1800000000.000100",
    "text": "let me in",
}


def message(number: int, text: str) -> dict[str, Any]:
    event = {"type": "message", "channel": DIRECT, "user": OWNER, "ts": f"{number}.000100", "text": text}
    return {"type": "event_callback", "event": event}


IGNORED: dict[str, dict[str, Any]] = {
    "bot": {"event": {**EVENT, "bot_id": "B1"}},
    "our bot": {"event": {**EVENT, "user": BOT}, "authorizations": [{"user_id": BOT, "is_bot": True}]},
    **{
        kind: {"event": {**EVENT, "subtype": kind}}
        for kind in (
            *("bot_message", "message_changed", "message_deleted"),
            *("channel_join", "channel_topic", "tombstone"),
        )
    },
    "no user": {"event": {key: value for key, value in EVENT.items() if key != "user"}},
    "malformed time": {"event": {**EVENT, "ts": "soon"}},
    "another event": {"event": {**EVENT, "type": "reaction_added"}},
}
CASE = PlatformCase(
    name="slack",
    threaded_chats={"channel": HOME, "direct message": DIRECT},
    mention=re.compile(r"<(?:@[UW]|!(?:here|channel|everyone|subteam))|(?<!\w)@(?:everyone|here|channel)\b"),
    own_mentions=(f"<@{OWNER}>",),
    opens_threads_with="send",
    tells_webhook=False,
    webhooks={"slack": SignedWebhook("slack", sign, message)},
    samples=SAMPLES,
    ignored={name: {"type": "event_callback", **body} for name, body in IGNORED.items()},
)
