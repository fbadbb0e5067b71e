"""Matrix in tests of the whole service."""

import re
from typing import Any

from local.chats.matrix import CHAT
from tests.shared.platforms.matrix.samples import BOT, DIRECT, HOME, SAMPLES, STRANGER, event, events, invitation, sign
from tests.support.platform_case import PlatformCase, SignedWebhook


def message(number: int, text: str) -> dict[str, Any]:
    return {"events": [event(number, text)]}


SAID = event(1, "let me in")
IGNORED: dict[str, Any] = {
    "our bot": {**SAID, "sender": BOT, "content": {**SAID["content"], "live.handoff.key": "1"}},
    "a bot": event(1, "beep", msgtype="m.notice"),
    "an edit": events(1)[5],
    "an edit of an image": event(
        1, "* cat", msgtype="m.image", **{"m.relates_to": events(1)[5]["content"]["m.relates_to"]}
    ),
    "a deleted sticker": {**SAID, "type": "m.sticker", "content": {}},
    "a reaction": {**SAID, "type": "m.reaction"},
    "a redaction": {**SAID, "type": "m.room.redaction"},
    "an invitation of another": invitation(state_key=STRANGER),
    "no sender": {key: value for key, value in SAID.items() if key != "sender"},
    "a sender of another form": {**SAID, "sender": "olivia"},
    "malformed time": {**SAID, "origin_server_ts": "soon"},
    "a deleted message": {**SAID, "content": {}},
}
CASE = PlatformCase(
    name="matrix",
    threaded_chats={"room": HOME, "direct room": DIRECT},
    mention=re.compile(r"(?<!\w)@(?:room|everyone|here|channel)\b", re.IGNORECASE),
    opens_threads_with="send",
    tells_webhook=False,
    webhooks={CHAT.name: SignedWebhook(CHAT.name, sign, message, timestamp=False)},
    samples=SAMPLES,
    ignored={name: {"events": [body]} for name, body in IGNORED.items()},
)
