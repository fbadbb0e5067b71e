"""The toy in tests of the whole service."""

import re
from typing import Any

from tests.contracts.platform.toy import CHAT
from tests.contracts.platform.toy.samples import SAMPLES, TOKEN, seal, sign
from tests.support.platform_case import PlatformCase, SignedWebhook

HOME, OWNER, BOT = CHAT.homes["owner"], CHAT.people["owner"], CHAT.people["bot"]


def said(number: int, text: str, **more: Any) -> dict[str, Any]:
    event = {"kind": "message", "id": str(number), "chat": HOME, "from": OWNER, "text": text, **more}
    return {"token": TOKEN, "events": [event]}


CASE = PlatformCase(
    name=CHAT.name,
    threaded_chats={"room": HOME, "another room": "studio"},
    mention=re.compile(r"(?<!\w)@(?:everyone|here|channel)\b"),
    webhooks={
        CHAT.name: SignedWebhook(
            CHAT.name, sign, said, timestamp=False, seal=seal, method="PUT", rest="/transactions/1"
        )
    },
    samples=SAMPLES,
    ignored={
        "unknown person": said(7, "let me in", **{"from": "zoe"}),
        "our bot": said(7, "let me in", **{"from": BOT}),
        "malformed id": said(7, "let me in", id="soon"),
        "no text": {"token": TOKEN, "events": [{"kind": "message", "id": "7", "chat": HOME, "from": OWNER}]},
        "no event": {"token": TOKEN, "events": []},
    },
)
