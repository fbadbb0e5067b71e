"""Webhooks of Discord: interactions, which Discord posts, and events of its Gateway, which our relay posts."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from shared.domain.attachments import OTHER, counted, kind_of_media
from shared.domain.commands import COMMANDS
from shared.domain.files import ChatFile
from shared.domain.messages import whole
from shared.domain.routes import Place
from shared.platforms.discord import SPEC
from shared.platforms.webhooks import UNREADABLE
from shared.ports.inbound import Answer, Inbound, Parsed, Pressed

PING, APPLICATION_COMMAND, MESSAGE_COMPONENT = 1, 2, 3
PONG, REPLY, CHANGE_NOTHING = 1, 4, 6
BUTTON = 2
ONLY_FOR_THE_SENDER = 1 << 6
# A plain message and a reply to one; every other type is a notice of Discord (a pin, a boost, an opened thread).
_WRITTEN = frozenset({0, 19})
_IS_VOICE_MESSAGE = 1 << 13

# What the answer to an interaction needs: the ids of application and interaction, and its token.
HANDLE = re.compile(r"([0-9]{1,20})/([0-9]{1,20})/([A-Za-z0-9_.=-]{1,1000})")
_BOT_DM = 1  # the context of an interaction in direct messages with the bot

_NOTHING = Answer({"type": CHANGE_NOTHING})
SAY = "say"
_MENTION = re.compile(r"\s*<@!?([0-9]+)>[\s,:]*")
_QUOTE_LIMIT = 1800
# An id begins with the milliseconds since Discord's first day.
_EPOCH, _TIME_BITS = 1_420_070_400_000, 22


def parse(raw: bytes, *, relayed: bool) -> Parsed:
    """The events and the answer of a verified webhook; `relayed`: our relay signed it, not Discord."""
    try:
        event = json.loads(raw)
        return _dispatched(event) if relayed else _interaction(event)
    except UNREADABLE as error:
        return Parsed(ignored=f"not what Discord sends ({type(error).__name__})")


def _dispatched(event: Mapping[str, Any]) -> Parsed:
    """An event of the Gateway. Interactions come this way while the application has no endpoint for them."""
    if event["t"] == "MESSAGE_CREATE":
        return _message(event["d"], direct=event.get("direct") is True)
    if event["t"] == "INTERACTION_CREATE":
        return _interaction(event["d"])
    return Parsed(ignored="neither a message nor an interaction")


def _message(message: Mapping[str, Any], *, direct: bool) -> Parsed:
    author = message["author"]
    if author.get("bot") or author.get("system") or message.get("webhook_id"):
        return Parsed(ignored="written by a bot")
    if message["type"] not in _WRITTEN:
        return Parsed(ignored="a notice of Discord")
    text = _without_mention(message["content"], message.get("mentions", ()))
    forwards = [snapshot["message"] for snapshot in message.get("message_snapshots") or ()]
    forwarded = "\n\n".join(filter(None, ((forward.get("content") or "").strip() for forward in forwards)))
    files = tuple(file for part in (message, *forwards) for file in _files(part, message["id"]))
    kinds = [kind for part in (message, *forwards) for kind in _kinds(part)]
    if forwards and not (forwarded or files or kinds):
        kinds = [OTHER]
    if not (text or forwarded or files or kinds):
        return Parsed(ignored="a message without text")
    inbound = _inbound(message, author, text, private=direct)
    return Parsed((replace(inbound, forwarded=forwarded, attachments=counted(kinds), files=files),))


def _files(part: Mapping[str, Any], message_id: str) -> Iterator[ChatFile]:
    """Files by message and attachment: addresses of files end after a day, and the message has new ones."""
    is_voice = bool((part.get("flags") or 0) & _IS_VOICE_MESSAGE)
    for file in part.get("attachments") or ():
        media_type = file.get("content_type") or ""
        kind = "voice" if is_voice else kind_of_media(media_type)
        reference = f"{_in_order(message_id).lstrip('0')}/{_in_order(file['id']).lstrip('0')}"
        yield ChatFile(kind, reference, file.get("filename") or "", media_type, file.get("size"))


def _kinds(message: Mapping[str, Any]) -> Iterator[str]:
    for _ in message.get("sticker_items") or ():
        yield "sticker"
    if message.get("poll"):
        yield "poll"


def _interaction(event: Mapping[str, Any]) -> Parsed:
    if event["type"] == PING:
        return Parsed(answer=Answer({"type": PONG}))
    if event["type"] == MESSAGE_COMPONENT:
        return _press(event)
    if event["type"] != APPLICATION_COMMAND:
        return Parsed(ignored="an interaction of another type")
    command = event["data"]["name"]
    argument = whole(" ".join(str(option["value"]) for option in event["data"].get("options", ()))).strip()
    if command == SAY:
        text, answer = argument, _reply(_quoted(argument))
    elif command in COMMANDS and COMMANDS[command].listed:
        text = f"/{command} {argument}".rstrip()
        answer = _reply(f"Received: /{command}", flags=ONLY_FOR_THE_SENDER)
    else:
        return Parsed(answer=_reply("This command is not known here. Try /help.", flags=ONLY_FOR_THE_SENDER))
    if not text:
        return Parsed(answer=_reply("There was no text in this. Try /say with a text.", flags=ONLY_FOR_THE_SENDER))
    return Parsed((_inbound(event, _user(event), text, private=_is_private(event)),), answer)


def _press(event: Mapping[str, Any]) -> Parsed:
    if event["data"]["component_type"] != BUTTON:
        return Parsed(answer=_NOTHING, ignored="a component of another type")
    user = _user(event)
    pressed = Pressed(
        event_id=_in_order(event["id"]),
        place=_place(event, user),
        sender=user["id"],
        button=event["data"]["custom_id"],
        message=_in_order(event["message"]["id"]).lstrip("0"),
        handle=_handle(event),
        private=_is_private(event),
    )
    return Parsed((pressed,), _NOTHING)


def _handle(event: Mapping[str, Any]) -> str:
    handle = "/".join((event["application_id"], event["id"], event["token"]))
    if not HANDLE.fullmatch(handle):
        raise ValueError("not an interaction of Discord")
    return handle


def _user(event: Mapping[str, Any]) -> Mapping[str, Any]:
    user: Mapping[str, Any] = event["member"]["user"] if event.get("member") else event["user"]
    return user


def _is_private(event: Mapping[str, Any]) -> bool:
    """An application that a person has installed is also used in direct messages with others."""
    return event.get("guild_id") is None and event.get("context") == _BOT_DM


def _inbound(event: Mapping[str, Any], user: Mapping[str, Any], text: str, *, private: bool) -> Inbound:
    name = user.get("global_name") or user.get("username") or ""
    event_id = _in_order(event["id"])
    place, written_at = _place(event, user), (int(event_id) >> _TIME_BITS) + _EPOCH
    return Inbound(event_id, place, user["id"], text, private=private, name=name, written_at=written_at)


def _place(event: Mapping[str, Any], user: Mapping[str, Any]) -> Place:
    place = Place(SPEC.name, event["channel_id"])
    if not SPEC.is_chat_id(place.chat) or not SPEC.is_person_id(user["id"]):
        raise ValueError("not an id of Discord")
    return place


def _reply(content: str, *, flags: int = 0) -> Answer:
    return Answer({"type": REPLY, "data": {"content": content, "flags": flags, "allowed_mentions": {"parse": []}}})


def _quoted(text: str) -> str:
    """The text of a command, quoted for all in the thread: Discord shows it to its sender only."""
    shown = text if len(text) <= _QUOTE_LIMIT else text[: _QUOTE_LIMIT - 1] + "…"
    quoted = "\n".join(f"> {line}" for line in shown.splitlines())
    return quoted if len(quoted) <= 2000 else quoted[:1999] + "…"


def _without_mention(text: str, mentions: Any) -> str:
    """The text without a mention of the bot at its start."""
    bots = [user["id"] for user in mentions if user.get("bot")]
    mention = _MENTION.match(text)
    return (text[mention.end() :] if mention and mention[1] in bots else text).strip()


def _in_order(snowflake: str) -> str:
    """A snowflake, padded: snowflakes grow with time, and texts of equal length sort as numbers do."""
    if not SPEC.is_chat_id(snowflake):
        raise ValueError("not an id of Discord")
    return snowflake.zfill(20)
