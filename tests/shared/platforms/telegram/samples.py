"""Updates of every kind, as Telegram sends them."""

from collections.abc import Mapping
from typing import Any

from local.chats.telegram import CHAT
from tests.support.hostile_webhooks import SAID, Samples

OWNER = {
    "id": int(CHAT.people["owner"]),
    "is_bot": False,
    "first_name": "Olivia",
    "username": "olivia",
    "language_code": "en",
}
BOT = {"id": int(CHAT.people["bot"]), "is_bot": True, "first_name": "Handoff", "username": "handoff_bot"}
PRIVATE = {"id": OWNER["id"], "first_name": "Olivia", "username": "olivia", "type": "private"}
FORUM = {"id": -1001000000001, "title": "Project forum", "type": "supergroup", "is_forum": True}
GROUP = {"id": -1002, "title": "Friends", "type": "group", "all_members_are_administrators": False}
FILE = {"file_id": "BQACAgIAAxk", "file_unique_id": "AgADGQ", "file_size": 9000}
KEYBOARD = {"inline_keyboard": [[{"text": "Go on", "callback_data": "/new"}]]}


def sign(secrets: Mapping[str, str], _raw: bytes, _now: int) -> Mapping[str, str]:
    return {"X-Telegram-Bot-Api-Secret-Token": secrets["telegram/webhook_secret"]}


def updates(number: int) -> list[dict[str, Any]]:
    def message(text: str | None = SAID, /, **more: Any) -> dict[str, Any]:
        said = {"message_id": number, "from": OWNER, "chat": PRIVATE, "date": 1_790_000_000, "text": text, **more}
        return {name: value for name, value in said.items() if value is not None}

    def press(on: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
        query = {"id": str(4 * 10**15 + number), "from": OWNER, "message": on, "data": "go", "chat_instance": "-7"}
        return {name: value for name, value in (query | more).items() if value is not None}

    topic = {"chat": FORUM, "message_thread_id": 5, "is_topic_message": True}
    member = {"chat": FORUM, "from": OWNER, "date": 1_790_000_000}
    kinds: list[dict[str, Any]] = [
        {"message": message()},
        {"message": message(message_thread_id=17, is_topic_message=True)},
        {"message": message(**topic, reply_to_message=message(None, **topic, forum_topic_created={"name": "x"}))},
        {"message": message(chat=GROUP, message_thread_id=40, reply_to_message=message(chat=GROUP))},
        {"message": message("/status", entities=[{"type": "bot_command", "offset": 0, "length": 7}])},
        {"message": message("/new@other_bot", chat=GROUP)},
        {"message": message("/status@handoff_bot now", chat=GROUP)},
        {"message": message(None, caption="look", photo=[{**FILE, "width": 90, "height": 67}])},
        {"message": message(None, caption="read", document={**FILE, "file_name": "a.py", "mime_type": "text/plain"})},
        {"message": message(None, sticker={**FILE, "type": "regular", "emoji": "👍"})},
        {"message": message(None, photo=[{**FILE, "width": 90, "height": 67}], media_group_id="13")},
        {"message": message(None, voice={**FILE, "duration": 3, "mime_type": "audio/ogg"})},
        {"message": message(via_bot=BOT)},
        {"message": message(None, **topic, forum_topic_edited={"name": "y"})},
        {"message": message(None, chat=GROUP, new_chat_members=[BOT], new_chat_member=BOT)},
        {"message": message(None, chat=GROUP, left_chat_member=OWNER)},
        {"message": message(None, chat=GROUP, migrate_to_chat_id=-1001000000009)},
        {"message": message(None, pinned_message=message())},
        {"message": message(forward_origin={"type": "user", "sender_user": OWNER, "date": 1})},
        {"message": message(chat=FORUM, sender_chat=FORUM, **{"from": {**BOT, "id": 1087968824}})},
        {"edited_message": message(edit_date=1_790_000_001)},
        {"channel_post": message(chat={"id": -1009, "title": "News", "type": "channel"}, sender_chat=FORUM)},
        {"callback_query": press(message(reply_markup=KEYBOARD))},
        {"callback_query": press(message(reply_markup=KEYBOARD, **topic))},
        {"callback_query": press({"message_id": number, "chat": FORUM, "date": 0})},  # too old to be shown
        {"callback_query": press(None, inline_message_id="AgAAAB")},
        {"inline_query": {"id": "1", "from": OWNER, "query": "x", "offset": ""}},
        {"message_reaction": {**member, "message_id": 1, "new_reaction": [{"type": "emoji", "emoji": "👍"}]}},
        {"my_chat_member": {**member, "new_chat_member": {"status": "member", "user": BOT}}},
        {"chat_member": {**member, "new_chat_member": {"status": "kicked", "user": OWNER, "until_date": 0}}},
        {"poll": {"id": "1", "question": "Which?", "options": [{"text": "a", "voter_count": 0}]}},
        {"of_the_future": {"anything": [message()]}},
    ]
    return [{"update_id": number, **kind} for kind in kinds]


SAMPLES = (Samples(CHAT.name, sign, updates),)
