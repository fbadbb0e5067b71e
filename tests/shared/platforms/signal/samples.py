"""Events of every kind, as signal-cli sends them and the relay posts them."""

from collections.abc import Mapping
from typing import Any

from local.chats.signal import ACCOUNT, CHAT, GROUP
from shared.platforms.signal import inbound
from tests.support.hostile_webhooks import SAID, Samples

OWNER, STRANGER = CHAT.people["owner"], CHAT.people["stranger"]
GROUP_INFO = {"groupId": inbound.group_of_chat(GROUP), "groupName": "Project group", "type": "DELIVER"}


def sign(secrets: Mapping[str, str], raw: bytes, now: int) -> Mapping[str, str]:
    return inbound.sign(secrets["signal/relay_secret"], raw, now=now * 1000)


def event(number: int, content: dict[str, Any] | None = None, *, person: str = OWNER, **more: Any) -> dict[str, Any]:
    """An envelope of a person."""
    source = {"source": "+15550007001", "sourceNumber": "+15550007001", "sourceUuid": person, "sourceName": "Olivia"}
    return {
        "envelope": {**source, "sourceDevice": 1, "timestamp": number, **(content or {})},
        "account": ACCOUNT,
        **more,
    }


def said(number: int, text: str | None = SAID, **more: Any) -> dict[str, Any]:
    """A message in the chat with the bot, or with `groupInfo` in a group."""
    return {"dataMessage": {"timestamp": number, "message": text, "expiresInSeconds": 0, "viewOnce": False, **more}}


def events(number: int) -> list[dict[str, Any]]:
    sent = {"destination": None, "timestamp": number, "message": "from my other device"}
    return [
        event(number, said(number)),
        event(number, said(number, groupInfo=GROUP_INFO)),
        event(number, said(number, quote={"id": 1, "author": "+1", "text": "before"})),
        event(number, said(number, None, reaction={"emoji": "👍", "targetSentTimestamp": 1})),
        event(number, said(number, None, attachments=[{"contentType": "image/jpeg", "id": "x"}])),
        event(number, said(number, None, sticker={"packId": "9b9e", "stickerId": 3}, contacts=[{"name": {}}])),
        event(number, {"typingMessage": {"action": "STARTED", "timestamp": number}}),
        event(number, {"receiptMessage": {"when": number, "isDelivery": True, "timestamps": [1]}}),
        event(number, {"syncMessage": {"sentMessage": sent}}),
        event(number, {"editMessage": {"targetSentTimestamp": 1, **said(number)}}),
        event(number, said(number), account="+15550001234"),
    ]


SAMPLES = (Samples(CHAT.name, sign, events),)
