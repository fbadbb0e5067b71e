"""WhatsApp in tests of the whole service."""

import re
from typing import Any

from local.chats.whatsapp import CHAT
from tests.shared.platforms.whatsapp.samples import SAMPLES, batch, failed, report, sign
from tests.shared.platforms.whatsapp.samples import message as entry
from tests.support.platform_case import PlatformCase, SignedWebhook

HOME = CHAT.homes["owner"]
STRANGER = "15550006666"


def message(number: int, text: str) -> dict[str, Any]:
    return batch({"messages": [entry(number, text)]})


CASE = PlatformCase(
    name="whatsapp",
    threaded_chats={"chat": HOME},
    mention=re.compile(r"(?<!\w)@(?:everyone|here|channel)\b"),
    opens_threads_with="send",
    webhooks={"whatsapp": SignedWebhook("whatsapp", sign, message, timestamp=False)},
    samples=SAMPLES,
    ignored={
        "unknown person": batch({"messages": [entry(7, "let me in", person=STRANGER)]}),
        "another number": batch({"messages": [entry(7, "let me in")]}, number_id="1"),
        "a group": batch({"messages": [entry(7, "let me in", group_id="Y2FwaV9n")]}),
        "no text": batch({"messages": [entry(7, " ")]}),
        "a reaction": batch({"messages": [entry(7, None, type="reaction", reaction={"emoji": "👍"})]}),
        "a change of the number": batch({"messages": [entry(7, None, type="system", system={"body": "x"})]}),
        "no type": batch({"messages": [entry(7, None)]}),
        "malformed time": batch({"messages": [entry(7, "let me in", timestamp="soon")]}),
        "a report": batch({"statuses": [report(7)]}),
        "a failure": batch({"statuses": [failed(7, 131047)]}),
        "another object": {"object": "page", "entry": [{"changes": [{"value": 1}]}]},
    },
)
