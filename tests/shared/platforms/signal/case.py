"""Signal in tests of the whole service."""

import re
from typing import Any

from local.chats.signal import GROUP, OWNER
from tests.shared.platforms.signal.samples import SAMPLES, event, said, sign
from tests.support.platform_case import PlatformCase, SignedWebhook

UNKNOWN = "66660000-dddd-4ddd-8ddd-000000000006"


def message(number: int, text: str) -> dict[str, Any]:
    return event(number, said(number, text))


CASE = PlatformCase(
    name="signal",
    threaded_chats={"private chat": OWNER, "group": GROUP},
    mention=re.compile(r"(?<!\w)@(?:everyone|here|channel)\b"),
    opens_threads_with="send",
    tells_webhook=False,
    webhooks={"signal": SignedWebhook("signal", sign, message)},
    samples=SAMPLES,
    ignored={
        "unknown person": event(7, said(7, "let me in"), person=UNKNOWN),
        "another account": event(7, said(7, "let me in"), account="+15550001234"),
        "no text": event(7, said(7, " ")),
        "a reaction": event(7, said(7, None, reaction={"emoji": "👍"})),
        "typing": event(7, {"typingMessage": {"action": "STARTED"}}),
        "a receipt": event(7, {"receiptMessage": {"isRead": True}}),
        "from the bot's other device": event(7, {"syncMessage": {"sentMessage": {"message": "x"}}}),
        "an edit": event(7, {"editMessage": said(7)}),
        "malformed time": event(7, said("soon")),  # type: ignore[arg-type]  # on purpose
        "malformed group": event(7, said(7, "let me in", groupInfo={"groupId": "?"})),
    },
)
