"""Webhooks of a homeserver: transactions of an application service or of the relay, and notices of a pusher."""

import json
import re
from collections.abc import Mapping
from typing import Any

from shared.domain.attachments import Attachment
from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.platforms.matrix import SPEC
from shared.platforms.matrix.render import KEY
from shared.platforms.webhooks import UNREADABLE, is_equal, with_slash
from shared.ports.inbound import Announced, Answer, Event, Inbound, Invited, Parsed, WebhookRequest

Json = Mapping[str, Any]

_PUSH = "_matrix/push/v1/notify"
_EVENT_ID = re.compile(r"\$[!-~]{1,180}")
MESSAGE = "m.room.message"
_EVENTS = {"m.sticker": "sticker", "m.poll.start": "poll", "org.matrix.msc3381.poll.start": "poll"}
MESSAGES = (MESSAGE, *_EVENTS)
"""The types of events that a person writes."""
_ATTACHED = {"m.image": "picture", "m.file": "file", "m.audio": "audio", "m.video": "video", "m.location": "location"}
FILE = re.compile(r"[A-Za-z0-9.-]{1,230}(?::[0-9]{1,5})?/[A-Za-z0-9_-]{1,200}")
"""A file by its server and its id there."""
_VOICE = ("m.voice", "org.matrix.msc3245.voice")
_FILES = frozenset({"picture", "file", "audio", "video", "voice"})
_WRITTEN = ("m.text", "m.emote")  # m.notice is the kind for bots: answering it could go on for ever
_LATEST = 10**15
# The reply that clients without threads quote above the text: `> <@person:server> words`, then a blank line.
_QUOTED = re.compile(r"\A> .*\n(?:>.*\n)*\n?")


def is_from_homeserver(request: WebhookRequest, secret: str | None) -> bool:
    """Whether the request carries the secret: as a bearer token, or as the key of the pusher in the body."""
    if not secret:
        return False
    if request.rest == _PUSH:
        try:
            devices = json.loads(request.body)["notification"]["devices"]
            return bool(devices) and all(is_equal(device["pushkey"], secret) for device in devices)
        except UNREADABLE:
            return False
    return is_equal(request.headers.get("authorization", ""), f"Bearer {secret}")


def parse(request: WebhookRequest) -> Parsed:
    """All that people wrote. What cannot be read is left out, and never refused: it would be sent again and again."""
    if request.method == "GET":  # whether the application service has such a user or room
        return Parsed(answer=Answer({"errcode": "M_NOT_FOUND", "error": "There is none."}, 404))
    try:
        body = json.loads(request.body)
        events = [_pushed(body["notification"])] if request.rest == _PUSH else [*map(read, _list(body["events"]))]
    except UNREADABLE:
        return Parsed(answer=Answer({}), ignored="not what a homeserver sends")
    found = tuple(event for event in events if not isinstance(event, str))
    why = ", ".join(dict.fromkeys(event for event in events if isinstance(event, str))) or "no events"
    return Parsed(found, Answer({}), ignored="" if found else why)


def _list(value: Any) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError("not a list")  # each character of a text would be read as an event
    return value


def read(event: Json) -> Event | str:
    """The event of the port, or the reason why it is ignored. Raises nothing."""
    try:
        return _read(event)
    except UNREADABLE:
        return "an event of another form"


def _read(event: Json) -> Event | str:
    kind, content = event["type"], event["content"]
    place, sender = _place(event["room_id"]), _person(event["sender"])
    if kind == "m.room.member" and content.get("membership") == "invite":
        return Invited(place, sender, addressee=_person(event["state_key"]))
    if kind == "m.room.encrypted":
        return Invited(place, sender)  # joining again says that the bot cannot read there
    if kind not in MESSAGES:
        return "an event of another kind"
    if KEY in content:
        return "a message of the bot"
    return _message(event, place, sender, content)


def _message(event: Json, place: Place, sender: str, content: Json) -> Inbound | str:
    relation = content.get("m.relates_to") or {}
    if relation.get("rel_type") == "m.replace":
        return "an edit"
    if not content:
        return "a deleted message"
    attached = _attached(event["type"], content)
    if attached is None and content["msgtype"] not in _WRITTEN:
        return "not a text"
    text = content["body"] if attached is None else _caption(content)
    if relation.get("m.in_reply_to") and relation.get("is_falling_back") is not True:
        text = _QUOTED.sub("", text)
    if attached is None and not text.strip():
        return "a message without text"
    root = _event_id(relation["event_id"]) if relation.get("rel_type") == "m.thread" else None
    file = _file(attached, content) if attached is not None else None
    return Inbound(
        _sortable(event),
        Place(SPEC.name, place.chat, root),
        sender,
        with_slash(text.strip()),
        written_at=event["origin_server_ts"],
        attachments=() if attached is None or file else (Attachment(attached),),
        files=(file,) if file else (),
    )


def _attached(kind: str, content: Json) -> str | None:
    """The kind of a message that is not a text."""
    if kind != MESSAGE:
        return _EVENTS[kind]
    if any(name in content for name in _VOICE) and content["msgtype"] == "m.audio":
        return "voice"
    return _ATTACHED.get(content["msgtype"])


def _file(kind: str, content: Json) -> ChatFile | None:
    """The file of a message, if it is on a homeserver and not encrypted."""
    url = content.get("url")
    reference = url.removeprefix("mxc://") if isinstance(url, str) and url.startswith("mxc://") else ""
    if kind not in _FILES or not FILE.fullmatch(reference):
        return None
    info = content.get("info") or {}
    name = content.get("filename") or content.get("body") or ""
    return ChatFile(kind, reference, name, info.get("mimetype") or "", info.get("size"))


def _caption(content: Json) -> str:
    """The body of a file is a caption only if the name of the file is beside it; else it is that name, or a description."""
    filename, body = content.get("filename"), content.get("body")
    has_caption = isinstance(filename, str) and isinstance(body, str) and body != filename
    return str(body) if has_caption else ""


def _pushed(notice: Json) -> Event | str:
    """A pusher names the message, and not when it was sent. An invitation comes whole: its room cannot be read yet."""
    kind, sender = notice.get("type"), notice.get("sender")
    if kind == "m.room.member":
        if notice.get("membership") != "invite" or notice.get("user_is_target") is not True:
            return "an event of another kind"
        return Invited(_place(notice["room_id"]), _person(sender))
    if kind == "m.room.encrypted":
        return Invited(_place(notice["room_id"]), _person(sender))
    if kind not in (*MESSAGES, None) or not notice.get("event_id"):
        return "a notice of another kind"
    named = None if sender is None else _person(sender)
    return Announced(_place(notice["room_id"]), _event_id(notice["event_id"]), named)


def _sortable(event: Json) -> str:
    """Ids of events do not sort, so the server's time comes first. It is the same on every redelivery."""
    sent = event["origin_server_ts"]
    if type(sent) is not int or not 0 <= sent < _LATEST:
        raise ValueError("not a time")
    return f"{sent:015d}.{_event_id(event['event_id'])}"


def _place(room: Any) -> Place:
    if not isinstance(room, str) or not SPEC.is_chat_id(room):
        raise ValueError("not the id of a room")
    return Place(SPEC.name, room)


def _person(user: Any) -> str:
    if not isinstance(user, str) or not SPEC.is_person_id(user):
        raise ValueError("not the id of a person")
    return user


def _event_id(event: Any) -> str:
    if not isinstance(event, str) or not _EVENT_ID.fullmatch(event):
        raise ValueError("not the id of an event")
    return event
