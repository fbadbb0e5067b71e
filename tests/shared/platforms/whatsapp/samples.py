"""Batches of every kind, as WhatsApp sends them."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from local.chats.whatsapp import CHAT, PHONE_NUMBER_ID
from tests.support.hostile_webhooks import SAID, Samples

OWNER, STRANGER, BOT = CHAT.people["owner"], CHAT.people["stranger"], CHAT.people["bot"]
CONTACT = {"profile": {"name": "Olivia"}, "wa_id": OWNER}


def sign(secrets: Mapping[str, str], raw: bytes, _now: int) -> dict[str, str]:
    digest = hmac.new(secrets["whatsapp/app_secret"].encode(), raw, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={digest}"}


def batch(*values: dict[str, Any], number_id: str = PHONE_NUMBER_ID) -> dict[str, Any]:
    """One webhook with these values."""
    metadata = {"display_phone_number": "15550009001", "phone_number_id": number_id}
    changes = [
        {"field": "messages", "value": {"messaging_product": "whatsapp", "metadata": metadata, **value}}
        for value in values
    ]
    return {"object": "whatsapp_business_account", "entry": [{"id": "102290129340398", "changes": changes}]}


def message(number: int, text: str | None = SAID, /, *, person: str = OWNER, **more: Any) -> dict[str, Any]:
    """A message of a person, which is of type `text` if it has one."""
    said = {"from": person, "id": f"wamid.HBg{number}", "timestamp": str(number), **more}
    return said | ({"type": "text", "text": {"body": text}} if text is not None else {})


def report(number: int, status: str = "sent", **more: Any) -> dict[str, Any]:
    """A report on a message of the bot."""
    return {"id": f"wamid.OUT{number}", "status": status, "timestamp": str(number), "recipient_id": OWNER, **more}


def failed(number: int, code: int, **more: Any) -> dict[str, Any]:
    error = {"code": code, "title": "Re-engagement message", "error_data": {"details": "more than 24 hours"}}
    return report(number, "failed", errors=[error], **more)


def pressed(number: int, button: str = "go", kind: str = "button_reply") -> dict[str, Any]:
    chosen = {"type": kind, kind: {"id": button, "title": "Go"}}
    context = {"from": BOT, "id": "wamid.OUT1"}
    return message(number, None, type="interactive", context=context, interactive=chosen)


def batches(number: int) -> list[dict[str, Any]]:
    media = {"id": "1003", "mime_type": "image/jpeg", "sha256": "x"}
    kinds: list[dict[str, Any]] = [
        {"messages": [message(number)]},
        {"messages": [message(number, context={"from": BOT, "id": "wamid.OUT1"})]},
        {"messages": [message(number), message(number + 1, "and more"), message(number, person=STRANGER)]},
        {"messages": [pressed(number)]},
        {"messages": [pressed(number, kind="list_reply")]},
        {"messages": [message(number, None, type="image", image={**media, "caption": "look"})]},
        {"messages": [message(number, None, type="document", document={**media, "filename": "a.py"})]},
        {"messages": [message(number, None, type="audio", audio={**media, "voice": True})]},
        {"messages": [message(number, context={"forwarded": True})]},
        {"messages": [message(number, None, type="unsupported", unsupported={"type": "poll_creation"})]},
        {"messages": [message(number, None, type="reaction", reaction={"message_id": "wamid.OUT1", "emoji": "👍"})]},
        {"messages": [message(number, None, type="button", button={"payload": "x", "text": "Go"})]},
        {"messages": [message(number, None, type="unsupported", errors=[{"code": 131051, "title": "Unsupported"}])]},
        {"messages": [message(number, None, type="system", system={"body": "changed", "wa_id": "15550007009"})]},
        {"messages": [message(number, group_id="Y2FwaV9n")]},
        {"statuses": [report(number, biz_opaque_callback_data="s/t/0"), report(number, "delivered")]},
        {"statuses": [failed(number, 131047, biz_opaque_callback_data="s/t/0")]},
        {"statuses": [report(number, "read")], "messages": [message(number)]},
        {"errors": [{"code": 130501, "title": "Message type is currently not supported"}]},
    ]
    ours = [batch({"contacts": [CONTACT], **kind}) for kind in kinds]
    return [*ours, batch({"messages": [message(number)]}, number_id="1"), {"object": "page", "entry": []}]


SAMPLES = (Samples(CHAT.name, sign, batches),)
