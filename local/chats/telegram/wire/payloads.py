"""Telegram's objects as JSON: users, chats, messages, members."""

import re
from typing import Any

from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT, Person
from local.chats.simulator.store import Chat, Message, Thread

JSON = dict[str, Any]
ICON_COLOR = 7322096
_FILE = {"file_id": "AgACAgIAAxkBAAIB", "file_unique_id": "AQADAgAT", "file_size": 5120}
_MOVING = {"width": 320, "height": 240, "duration": 3}
_POLL: JSON = {
    "id": "5420114811",
    "question": "When?",
    "options": [
        {"persistent_id": str(number), "text": text, "voter_count": 0} for number, text in enumerate(("now", "later"))
    ],
    "total_voter_count": 0,
    "is_closed": False,
    "is_anonymous": True,
    "type": "regular",
    "allows_multiple_answers": False,
    "allows_revoting": False,
    "members_only": False,
}
ATTACHED: dict[str, JSON] = {
    "sticker": {
        "sticker": {
            **_FILE,
            "type": "regular",
            "width": 512,
            "height": 512,
            "is_animated": False,
            "is_video": False,
            "emoji": "👍",
        }
    },
    "location": {"location": {"latitude": 59.91, "longitude": 10.75}},
    "contact": {"contact": {"phone_number": "+15550107", "first_name": "Sam"}},
    "poll": {"poll": _POLL},
    "other": {"dice": {"emoji": "🎲", "value": 4}},
}
"""What a message holds for each kind of attachment that is no file."""
FILES = ("picture", "file", "voice", "audio", "video", "animation")
_COMMAND = re.compile(r"(?<!\S)/[a-z0-9_]{1,32}(?:@\w+)?", re.ASCII | re.IGNORECASE)


def utf16_length(text: str) -> int:
    """Telegram counts in UTF-16 code units: an emoji is two."""
    return len(text.encode("utf-16-le")) // 2


def user(person: Person) -> JSON:
    result: JSON = {"id": int(person.id), "is_bot": person.key == BOT, "first_name": person.first_name}
    if person.last_name:
        result["last_name"] = person.last_name
    result["username"] = person.handle
    if person.key != BOT:
        result["language_code"] = "en"
    return result


def me(backend: Backend) -> JSON:
    return user(backend.person(BOT)) | {
        "can_join_groups": True,
        "can_read_all_group_messages": True,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
        "has_topics_enabled": backend.options.topics,
        "allows_users_to_create_topics": backend.options.topics,
    }


def chat(item: Chat, backend: Backend) -> JSON:
    if item.kind == "private":
        person = backend.person(item.people[0])
        named = {"first_name": person.first_name, "last_name": person.last_name, "username": person.handle}
        return {"id": int(item.id), **named, "type": "private"}
    if item.kind == "group":
        return {"id": int(item.id), "title": item.title, "type": "group", "all_members_are_administrators": False}
    return {"id": int(item.id), "title": item.title, "type": "supergroup", "is_forum": True}


def full_chat(item: Chat, backend: Backend) -> JSON:
    gifts = dict.fromkeys(("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription"), False)
    gifts["gifts_from_channels"] = False
    return chat(item, backend) | {
        "accent_color_id": 0,
        "max_reaction_count": 11,
        "accepted_gift_types": gifts,
        **({} if item.kind == "private" else {"permissions": {"can_send_messages": True, "can_manage_topics": False}}),
    }


def message(item: Message, where: Chat, thread: Thread | None, backend: Backend) -> JSON:
    """A message in updates and answers; in a forum's topic it replies to the message that created the topic."""
    result: JSON = {
        "message_id": int(item.id),
        "from": user(backend.person(item.author)),
        "chat": chat(where, backend),
        "date": int(item.at),
    }
    if item.edited_at is not None:
        result["edit_date"] = int(item.edited_at)
    if thread is not None:
        result |= {"message_thread_id": int(thread.id), "is_topic_message": True}
        if where.kind == "forum":
            result["reply_to_message"] = topic_created(where, thread, backend)
    result |= _content(item)
    if item.extra.get("forwarded"):
        origin = {"type": "hidden_user", "sender_user_name": "Eve", "date": 1_780_000_000}
        result |= {"forward_origin": origin, "forward_date": origin["date"]}
    if item.extra.get("keyboard"):
        result["reply_markup"] = {"inline_keyboard": item.extra["keyboard"]}
    return result


def _content(item: Message) -> JSON:
    """The text of a message, or what it holds instead with the text as a caption."""
    kinds, files = item.extra.get("attachments") or [], item.extra.get("files") or []
    held: JSON = _file(files[0]) if files else dict(ATTACHED[kinds[0]]) if kinds else {}
    text, formats = ("caption", "caption_entities") if held else ("text", "entities")
    entities = item.extra.get("entities") or commands(item.text)
    result = held | ({text: item.text} if item.text or not held else {})
    result |= {formats: entities} if entities else {}
    return result | ({"media_group_id": item.extra["album"]} if item.extra.get("album") else {})


def file_id(file: JSON) -> str:
    """The id under which a bot asks for a file."""
    return f"AgACAgIAAx{file['id']}"


def _file(file: JSON) -> JSON:
    """A file as the field of its kind. Telegram makes other files of photos, of which it tells no name."""
    kind = file["kind"]
    held = {"file_id": file_id(file), "file_unique_id": f"AQAD{file['id']}", "file_size": file["size"]}
    if kind == "picture":
        small = {**held, "file_id": "AgACsmall", "file_size": 1}
        return {"photo": [{**small, "width": 90, "height": 67}, {**held, "width": 1280, "height": 960}]}
    held |= {"mime_type": file["type"]}
    named = {**held, "file_name": file["name"]}
    match kind:
        case "voice":
            return {"voice": {**held, "duration": 3}}
        case "audio":
            return {"audio": {**named, "duration": 200, "title": "Song"}}
        case "video":
            return {"video": {**named, **_MOVING}}
        case "animation":
            return {"animation": {**named, **_MOVING}, "document": named}
    return {"document": named}


def topic_created(where: Chat, thread: Thread, backend: Backend) -> JSON:
    """The service message that starts a topic and gives it its id."""
    return {
        "message_id": int(thread.id),
        "from": user(backend.person(thread.opener)),
        "chat": chat(where, backend),
        "date": int(thread.at),
        "message_thread_id": int(thread.id),
        "is_topic_message": True,
        "forum_topic_created": {"name": thread.extra["first_title"], "icon_color": ICON_COLOR},
    }


def topic(thread: Thread) -> JSON:
    return {"message_thread_id": int(thread.id), "name": thread.title, "icon_color": ICON_COLOR}


def commands(text: str) -> list[JSON]:
    """The entities that Telegram adds to a person's text: bot commands."""
    return [
        {
            "type": "bot_command",
            "offset": utf16_length(text[: found.start()]),
            "length": utf16_length(found.group()),
        }
        for found in _COMMAND.finditer(text)
    ]


def member(person: Person, where: Chat, backend: Backend) -> JSON | None:
    """The person as a member of the chat, or None."""
    if person.key == BOT:
        if not where.has_bot:
            return {"status": "left", "user": user(person)}
        if where.kind == "forum" and backend.options.admin:
            return _administrator(person)
        return {"status": "member", "user": user(person)}
    if person.key not in where.people:
        return None
    return {"status": "member", "user": user(person)}


def _administrator(person: Person) -> JSON:
    granted = ("can_manage_chat", "can_manage_topics", "can_pin_messages", "can_delete_messages", "can_invite_users")
    withheld = (
        *("can_be_edited", "is_anonymous", "can_manage_video_chats", "can_restrict_members", "can_promote_members"),
        *("can_change_info", "can_post_stories", "can_edit_stories", "can_delete_stories", "can_manage_tags"),
        "can_send_welcome_messages",
    )
    rights = dict.fromkeys(granted, True) | dict.fromkeys(withheld, False)
    return {"status": "administrator", "user": user(person), **rights}
