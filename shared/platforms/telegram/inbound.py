"""Webhooks of Telegram: verification, and the message or the press of a button in an update."""

import json
import re
from collections.abc import Mapping
from typing import Any

from shared.domain.attachments import OTHER, Attachment
from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.platforms.telegram import SPEC
from shared.platforms.webhooks import UNREADABLE, is_equal
from shared.ports.inbound import Inbound, Parsed, Pressed

_NAMED_COMMAND = re.compile(r"(/[a-z0-9_]+)@(\w+)", re.ASCII | re.IGNORECASE)
# What a message may hold instead of a text; all else is a notice of Telegram (a pin, a new member, a topic). Telegram also
# sends an animation as a document, and a venue as a location: the first one counts.
_FILES = {
    "photo": "picture",
    "animation": "animation",
    "document": "file",
    "voice": "voice",
    "audio": "audio",
    "video": "video",
    "video_note": "video",
}
_MEDIA_TYPES = {"photo": "image/jpeg", "voice": "audio/ogg", "video_note": "video/mp4"}
"""Telegram's own where a message does not tell."""
_ATTACHED = {
    "sticker": "sticker",
    "venue": "location",
    "location": "location",
    "contact": "contact",
    "poll": "poll",
    **dict.fromkeys(("dice", "game", "story", "checklist", "paid_media", "invoice"), OTHER),
}
SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105  # the header's name, no secret


def is_from_telegram(headers: Mapping[str, str], secret: str | None) -> bool:
    """Whether the request carries the secret that was given to setWebhook. Never, while no secret is set."""
    return is_equal(headers.get(SECRET_HEADER), secret)


def parse(raw: bytes) -> Parsed:
    """The message or the press of a person in an update, or why it is ignored."""
    try:
        update = json.loads(raw)
        if (query := update.get("callback_query")) is not None:
            return _parse_press(query, update["update_id"])
        message = update.get("message")
        if message is None:
            return Parsed(ignored=f"an update of another kind: {_kind(update)}")
        return _parse_message(message)
    except UNREADABLE:
        return Parsed(ignored="not an update that Telegram would send")


def _parse_message(message: Mapping[str, Any]) -> Parsed:
    sender = message.get("from")
    if sender is None:
        return Parsed(ignored="a message without a sender")
    if sender["is_bot"]:
        return Parsed(ignored="a message of a bot")
    if message.get("is_automatic_forward"):
        return Parsed(ignored="a channel's post, forwarded by Telegram")
    words = message.get("text") or message.get("caption")
    words = words.strip() if isinstance(words, str) else ""
    files, attachments = _files(message), _attachments(message)
    if not (words or files or attachments):
        return Parsed(ignored="a message without text")
    text, addressee = ("", None) if _is_forwarded(message) else _command(words)
    person = _integer(sender["id"])
    inbound = Inbound(
        event_id=f"{_integer(message['message_id']):020d}",
        place=_place(message),
        sender=str(person),
        text=text,
        private=_integer(message["chat"]["id"]) == person,
        addressee=addressee,
        name=_name(sender),
        written_at=_integer(message["date"]) * 1000 if "date" in message else None,
        forwarded=words if _is_forwarded(message) else "",
        attachments=attachments,
        album=message.get("media_group_id") if files else None,
        files=files,
    )
    return Parsed((inbound,))


def _files(message: Mapping[str, Any]) -> tuple[ChatFile, ...]:
    """The file of a message; of a picture the largest of its sizes."""
    name = next((name for name in _FILES if message.get(name)), None)
    if name is None:
        return ()
    file = message[name][-1] if name == "photo" else message[name]
    media_type = file.get("mime_type") or _MEDIA_TYPES.get(name, "")
    return (ChatFile(_FILES[name], file["file_id"], file.get("file_name") or "", media_type, file.get("file_size")),)


def _attachments(message: Mapping[str, Any]) -> tuple[Attachment, ...]:
    if any(message.get(name) for name in _FILES):
        return ()
    kind = next((kind for name, kind in _ATTACHED.items() if message.get(name) is not None), None)
    return (Attachment(kind),) if kind else ()


def _is_forwarded(message: Mapping[str, Any]) -> bool:
    """Whether another person or another bot has made the words. Older servers only tell when it was written first."""
    return any(message.get(name) is not None for name in ("forward_origin", "forward_date", "via_bot"))


def _name(sender: Mapping[str, Any]) -> str:
    """`Olivia Owner (@olivia)`, as far as it is known."""
    names = [part for part in (sender.get("first_name"), sender.get("last_name")) if isinstance(part, str)]
    handle = sender.get("username")
    return " ".join([*names, *([f"(@{handle})"] if isinstance(handle, str) else [])])


def _parse_press(query: Mapping[str, Any], update_id: Any) -> Parsed:
    """Presses have no message of their own, and their ids are not in order: the update's are."""
    if (message := query.get("message")) is None or query.get("data") is None:
        return Parsed(ignored="a press of a button that is not ours")
    if query["from"]["is_bot"]:
        return Parsed(ignored="a press of a bot")
    person = _integer(query["from"]["id"])
    pressed = Pressed(
        event_id=f"{_integer(update_id):020d}",
        place=_place(message),
        sender=str(person),
        button=query["data"],
        message=str(_integer(message["message_id"])),
        handle=query["id"],
        private=_integer(message["chat"]["id"]) == person,
    )
    return Parsed((pressed,))


def _place(message: Mapping[str, Any]) -> Place:
    # A reply outside topics carries a thread id too; only a topic's message says that it is one.
    thread = str(_integer(message["message_thread_id"])) if message.get("is_topic_message") else None
    return Place(SPEC.name, str(_integer(message["chat"]["id"])), thread)


def _integer(value: Any) -> int:
    """A number as Telegram sends it, with at most 52 bits. Raises ValueError for anything else."""
    if type(value) is not int or abs(value) >= 2**52:
        raise ValueError("not a number that Telegram would send")
    return value


def _command(text: str) -> tuple[str, str | None]:
    """In groups Telegram's clients write `/status@the_bot`: the command, and the bot that it is for."""
    named = _NAMED_COMMAND.match(text)
    return (named[1] + text[named.end() :], named[2]) if named else (text, None)


def _kind(update: Mapping[str, Any]) -> str:
    kinds = sorted(key for key in update if key != "update_id" and key.isidentifier() and len(key) < 40)
    return ", ".join(kinds[:3]) or "empty"
