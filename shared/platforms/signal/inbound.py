"""Events of signal-cli as the relay posts them: verification, and the messages of people."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from typing import Any

from shared.domain.attachments import counted, kind_of_media
from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.platforms.signal import SPEC
from shared.platforms.webhooks import UNREADABLE, is_equal, is_fresh
from shared.ports.inbound import Inbound, Parsed

TIME, SIGNATURE = "x-handoff-time", "x-handoff-signature"
_PREFIX = "group."
_GROUP_BYTES = 32
_LONG_TEXT = "text/x-signal-plain"  # of a long text, which signal-cli has put into the message


def sign(secret: str, raw: bytes, *, now: int) -> Mapping[str, str]:
    """The headers with which the relay signs an event. `now` is in milliseconds."""
    second = str(now // 1000)
    digest = hmac.new(secret.encode(), second.encode() + b":" + raw, hashlib.sha256).hexdigest()
    return {TIME: second, SIGNATURE: digest}


def is_from_relay(headers: Mapping[str, str], raw: bytes, secret: str | None, *, now: int) -> bool:
    """Whether the relay signed these bytes in the last five minutes. Never, while no secret is set."""
    second = headers.get(TIME, "")
    if not secret or not is_fresh(second, now=now):
        return False
    return is_equal(headers.get(SIGNATURE), sign(secret, raw, now=int(second) * 1000)[SIGNATURE])


def parse(raw: bytes, account: str | None) -> Parsed:
    """The message of an envelope, or why it is ignored."""
    try:
        event = json.loads(raw)
        if event["account"] != account:
            return Parsed(ignored="an event of another account")
        return _message(event["envelope"])
    except UNREADABLE:
        return Parsed(ignored="not an event that signal-cli would send")


def _message(envelope: Mapping[str, Any]) -> Parsed:
    data = envelope.get("dataMessage")
    if data is None:
        return Parsed(ignored="an envelope without a message")
    text = data.get("message") or ""
    files, attachments = tuple(_files(data)), counted(_kinds(data))
    if not (text.strip() or files or attachments):
        return Parsed(ignored="a message without text")
    sender, sent_at = envelope["sourceUuid"], data["timestamp"]
    if not SPEC.is_person_id(sender) or type(sent_at) is not int or not 0 < sent_at < 10**14:
        raise ValueError("not ids of Signal")
    group = data.get("groupInfo")
    chat = sender if group is None else chat_of_group(group["groupId"])
    # Times are unique for a sender only.
    event_id = f"{sent_at:014d}-{hashlib.sha256(sender.encode()).hexdigest()[:16]}"
    place = Place(SPEC.name, chat)
    inbound = Inbound(
        event_id,
        place,
        sender,
        text.strip(),
        private=group is None,
        written_at=sent_at,
        attachments=attachments,
        files=files,
    )
    return Parsed((inbound,))


def _files(data: Mapping[str, Any]) -> Iterator[ChatFile]:
    for file in data.get("attachments") or ():
        kind, media_type = kind_of_media(file.get("contentType")), file.get("contentType") or ""
        if kind == "audio" and not file.get("filename"):
            kind = "voice"  # the apps name only files
        if media_type != _LONG_TEXT or not data.get("message"):
            yield ChatFile(kind, file["id"], file.get("filename") or "", media_type, file.get("size"))


def _kinds(data: Mapping[str, Any]) -> Iterator[str]:
    for _ in data.get("contacts") or ():
        yield "contact"
    if data.get("sticker"):
        yield "sticker"
    if data.get("pollCreate"):
        yield "poll"


def chat_of_group(group_id: str) -> str:
    """The chat's id: base64 as signal-cli writes it has characters that do not belong into a URL. Raises ValueError."""
    raw = base64.b64decode(group_id, validate=True)
    if len(raw) != _GROUP_BYTES:
        raise ValueError("not the id of a group")
    return _PREFIX + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def group_of_chat(chat: str) -> str | None:
    """The group's id as signal-cli writes it; None for the chat with a person."""
    if not chat.startswith(_PREFIX):
        return None
    return base64.b64encode(base64.urlsafe_b64decode(chat.removeprefix(_PREFIX) + "=")).decode()
