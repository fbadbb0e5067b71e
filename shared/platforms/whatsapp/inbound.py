"""Webhooks of WhatsApp: verification, and batches of messages, presses of buttons, and reports on the bot's messages."""

import hashlib
import hmac
import json
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shared.domain.attachments import OTHER, Attachment
from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.platforms.webhooks import UNREADABLE, is_equal
from shared.platforms.whatsapp import SPEC
from shared.platforms.whatsapp.errors import is_final
from shared.ports.inbound import Answer, Event, Heard, Inbound, Parsed, Pressed, Receipt, WebhookRequest

log = logging.getLogger(__name__)
_SIGNATURE = "x-hub-signature-256"
_CHALLENGE = re.compile(r"[!-~]{1,200}")
_SECONDS = re.compile(r"[0-9]{1,12}")
_FILES = {"image": "picture", "video": "video", "document": "file", "audio": "audio"}
_ATTACHED = {
    "sticker": "sticker",
    "location": "location",
    "contacts": "contact",
    "order": OTHER,
}
# Of the messages that the Cloud API does not hand out. Their others are no messages: votes, pins, deletions.
_WITHHELD = {
    "image": "picture",
    "gif": "animation",
    "location": "location",
    "poll_creation": "poll",
    **dict.fromkeys(("group_invite", "order", "product"), OTHER),
}
_ACCEPTED = frozenset({"sent", "delivered", "read", "played"})


def is_from_whatsapp(request: WebhookRequest, app_secret: str | None, verify_token: str | None) -> bool:
    """Whether the raw bytes carry the app's signature, or a check of the URL the verify token."""
    if request.method == "GET":
        given = request.query.get("hub.verify_token")
        return request.query.get("hub.mode") == "subscribe" and is_equal(given, verify_token)
    if not app_secret:
        return False
    digest = hmac.new(app_secret.encode(), request.body, hashlib.sha256).hexdigest()
    return is_equal(request.headers.get(_SIGNATURE), f"sha256={digest}")


def parse(request: WebhookRequest, number: str | None) -> Parsed:
    """The events of a batch that are for `number`, the id of the bot's phone number. An odd entry hides no other."""
    if request.method == "GET":
        challenge = request.query.get("hub.challenge", "")
        return Parsed(answer=Answer(challenge if _CHALLENGE.fullmatch(challenge) else ""))
    try:
        entries = [change["value"] for entry in json.loads(request.body)["entry"] for change in entry["changes"]]
        ours = [value for value in entries if value["metadata"]["phone_number_id"] == number]
    except UNREADABLE:
        return Parsed(ignored="not a batch that WhatsApp would send")
    events = tuple(event for value in ours for event in _events(value))
    return Parsed(events, ignored="" if events else "nothing that a person wrote, and no report with a key")


def _events(value: Mapping[str, Any]) -> Iterator[Event]:
    for entry in _listed(value, "messages"):
        try:
            yield from _said(entry)
        except UNREADABLE:
            continue
    for entry in _listed(value, "statuses"):
        try:
            yield from _reported(entry)
        except UNREADABLE:
            continue


def _listed(value: Mapping[str, Any], name: str) -> list[Any]:
    found = value.get(name)
    return found if isinstance(found, list) else []


def _said(entry: Mapping[str, Any]) -> Iterator[Event]:
    """The message or press of a person. Anything else that they send lets the bot write to them, too."""
    sender, wamid, kind = entry["from"], entry["id"], entry["type"]
    if not SPEC.is_person_id(sender) or not isinstance(wamid, str) or not _SECONDS.fullmatch(entry["timestamp"]):
        raise ValueError("not a message of WhatsApp")
    if kind == "system" or "group_id" in entry:
        return
    place, second = Place(SPEC.name, sender), int(entry["timestamp"])
    # Ids of messages have no order, and times are whole seconds: within one the order is arbitrary, but always the same.
    event_id = f"{second:012d}-{hashlib.sha256(wamid.encode('utf-8', 'replace')).hexdigest()[:24]}"
    words, files, attachments = _words(entry), _files(entry), _attachments(entry)
    if words or files or attachments:
        is_forwarded = _is_forwarded(entry)
        yield Inbound(
            event_id,
            place,
            sender,
            "" if is_forwarded else words,
            private=True,
            written_at=second * 1000,
            forwarded=words if is_forwarded else "",
            attachments=attachments,
            files=files,
        )
    elif kind == "interactive":
        chosen = entry["interactive"][entry["interactive"]["type"]]["id"]
        yield Pressed(event_id, place, sender, chosen, entry["context"]["id"], handle=wamid, private=True)
    yield Heard(place, sender, second * 1000)


def _words(entry: Mapping[str, Any]) -> str:
    """The text of a message, or the caption of its file."""
    kind = entry["type"]
    words = entry["text"]["body"] if kind == "text" else _inside(entry, kind).get("caption")
    return words.strip() if isinstance(words, str) else ""


def _files(entry: Mapping[str, Any]) -> tuple[ChatFile, ...]:
    """The file of a message. Its size is told where it is fetched."""
    file, kind = _inside(entry, entry["type"]), _FILES.get(entry["type"])
    if kind is None or "id" not in file:
        return ()
    if kind == "audio" and file.get("voice") is True:
        kind = "voice"
    return (ChatFile(kind, file["id"], file.get("filename") or "", file.get("mime_type") or ""),)


def _attachments(entry: Mapping[str, Any]) -> tuple[Attachment, ...]:
    kind = entry["type"]
    if kind in _FILES and "id" not in _inside(entry, kind):
        return (Attachment(_FILES[kind]),)
    if kind == "unsupported":
        withheld = _WITHHELD.get(_inside(entry, kind).get("type", ""))
        return (Attachment(withheld),) if withheld else ()
    return (Attachment(_ATTACHED[kind]),) if kind in _ATTACHED else ()


def _inside(entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = entry.get(name)
    return found if isinstance(found, Mapping) else {}


def _is_forwarded(entry: Mapping[str, Any]) -> bool:
    context = _inside(entry, "context")
    return bool(context.get("forwarded") or context.get("frequently_forwarded"))


def _reported(entry: Mapping[str, Any]) -> Iterator[Event]:
    """A report on a message of the bot that was sent with a key."""
    key, person, wamid = entry.get("biz_opaque_callback_data"), entry["recipient_id"], entry["id"]
    if entry["status"] == "failed":
        codes = [error["code"] for error in entry.get("errors") or () if type(error["code"]) is int]
        log.warning("whatsapp: a message of the bot failed with error %s", ", ".join(map(str, codes)) or "unknown")
        if not codes or not all(map(is_final, codes)):
            return
        wamid = None
    elif entry["status"] not in _ACCEPTED:
        return
    if key and SPEC.is_person_id(person):
        yield Receipt(Place(SPEC.name, person), key, wamid)
