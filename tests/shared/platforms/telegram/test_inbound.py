"""Updates in the form that Telegram sends."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from shared.domain.attachments import Attachment
from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.platforms.telegram.inbound import SECRET_HEADER, is_from_telegram, parse
from shared.ports.inbound import Parsed, Pressed
from tests.support.webhooks import held_by, message_in, press_in

PERSON = {"id": 7001, "is_bot": False, "first_name": "Olivia", "language_code": "en"}
BOT = {"id": 9001, "is_bot": True, "first_name": "Handoff", "username": "handoff_bot"}
PRIVATE = {"id": 7001, "first_name": "Olivia", "type": "private"}
FORUM = {"id": -1001000000001, "title": "Project", "type": "supergroup", "is_forum": True}
SUPERGROUP = {"id": -1001000000002, "title": "Talk", "type": "supergroup"}
GROUP = {"id": -1002, "title": "Friends", "type": "group"}


FILE = {"file_id": "AgACAgIAAxkBAAIB", "file_unique_id": "AQADAgAT", "file_size": 5120}
PHOTO = [{**FILE, "width": 90, "height": 67}, {**FILE, "width": 1280, "height": 960}]
MP4 = {**FILE, "file_name": "cat.mp4", "mime_type": "video/mp4", "duration": 3, "width": 320, "height": 240}
POINT = {"latitude": 59.91, "longitude": 10.75}


def update(kind: str = "message", /, **message: Any) -> bytes:
    given = {"message_id": 42, "from": PERSON, "chat": PRIVATE, "date": 1_790_000_000, "text": "hi", **message}
    return json.dumps({"update_id": 100001, kind: given}).encode()


def press(*, update_id: Any = 100002, **query: Any) -> bytes:
    topic = {"message_id": 42, "chat": FORUM, "from": BOT, "message_thread_id": 5, "is_topic_message": True}
    given = {"id": "4382bfdwdsb323b2d9", "from": PERSON, "message": topic, "chat_instance": "-7", "data": "allow:1"}
    return json.dumps({"update_id": update_id, "callback_query": given | query}).encode()


@pytest.mark.parametrize(
    ("message", "place", "private"),
    [
        ({"chat": PRIVATE}, Place("telegram", "7001"), True),
        ({"chat": PRIVATE, "message_thread_id": 5, "is_topic_message": True}, Place("telegram", "7001", "5"), True),
        (
            {"chat": FORUM, "message_thread_id": 5, "is_topic_message": True},
            Place("telegram", "-1001000000001", "5"),
            False,
        ),
        ({"chat": GROUP, "date": 0}, Place("telegram", "-1002"), False),
    ],
    ids=["private", "private topic", "forum topic", "message too old to be shown"],
)
def test_a_press_comes_from_the_chat_or_its_topic(message: Mapping[str, Any], place: Place, *, private: bool) -> None:
    assert press_in(parse(press(message={"message_id": 42, **message}))) == Pressed(
        event_id="00000000000000100002",
        place=place,
        sender="7001",
        button="allow:1",
        message="42",
        handle="4382bfdwdsb323b2d9",
        private=private,
    )


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({}, Place("telegram", "7001")),
        ({"message_thread_id": 5, "is_topic_message": True}, Place("telegram", "7001", "5")),
        ({"chat": FORUM, "message_thread_id": 5, "is_topic_message": True}, Place("telegram", "-1001000000001", "5")),
        ({"chat": FORUM}, Place("telegram", "-1001000000001")),
        ({"chat": SUPERGROUP, "message_thread_id": 40, "reply_to_message": {}}, Place("telegram", "-1001000000002")),
        ({"chat": GROUP}, Place("telegram", "-1002")),
    ],
    ids=["private", "private topic", "forum topic", "forum's General", "reply outside topics", "group"],
)
def test_a_message_comes_from_the_chat_or_its_topic(message: Mapping[str, Any], place: Place) -> None:
    inbound = message_in(parse(update(**message)))

    assert (inbound.place, inbound.sender, inbound.text) == (place, "7001", "hi")


def test_ids_sort_in_the_order_of_writing() -> None:
    ids = [message_in(parse(update(message_id=n))).event_id for n in (1, 9, 10, 99, 100, 123_456_789_012)]

    assert ids == sorted(ids)


def test_a_caption_is_text_beside_its_picture() -> None:
    said = message_in(parse(update(text=None, caption=" look ", photo=PHOTO)))

    assert (said.text, held_by(said)) == ("look", (Attachment("picture"),))


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"photo": PHOTO}, "picture"),
        ({"document": {**FILE, "file_name": "a.py", "mime_type": "text/x-python"}}, "file"),
        ({"animation": MP4, "document": MP4}, "animation"),
        ({"voice": {**FILE, "duration": 2, "mime_type": "audio/ogg"}}, "voice"),
        ({"audio": {**FILE, "duration": 200, "title": "Song"}}, "audio"),
        ({"video": MP4}, "video"),
        ({"video_note": {**FILE, "length": 240, "duration": 3}}, "video"),
        ({"sticker": {**FILE, "type": "regular", "emoji": "👍", "is_animated": False, "is_video": False}}, "sticker"),
        ({"location": POINT}, "location"),
        ({"venue": {"location": POINT, "title": "Café", "address": "1"}, "location": POINT}, "location"),
        ({"contact": {"phone_number": "+1555", "first_name": "Sam"}}, "contact"),
        ({"poll": {"id": "5", "question": "When?", "options": [], "type": "regular"}}, "poll"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "other"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_message_without_text_names_what_it_holds(content: dict[str, Any], kind: str) -> None:
    said = message_in(parse(update(text=None, **content)))

    assert (said.text, said.forwarded, held_by(said)) == ("", "", (Attachment(kind),))


def test_the_messages_of_an_album_have_its_id() -> None:
    parts = [update(text=None, photo=PHOTO, media_group_id="13", message_id=number) for number in (42, 43)]

    assert [message_in(parse(part)).album for part in parts] == ["13", "13"]
    assert message_in(parse(update(text=None, photo=PHOTO))).album is None


@pytest.mark.parametrize(
    "origin",
    [
        {"forward_origin": {"type": "user", "sender_user": BOT, "date": 1_780_000_000}, "forward_date": 1_780_000_000},
        {"forward_origin": {"type": "hidden_user", "sender_user_name": "Eve", "date": 1_780_000_000}},
        {"forward_from_chat": {"id": -1003, "type": "channel"}, "forward_date": 1_780_000_000},
        {"via_bot": BOT},
    ],
    ids=["user", "hidden user", "channel, from an older server", "via another bot"],
)
def test_forwarded_words_are_not_the_senders(origin: dict[str, Any]) -> None:
    said = message_in(parse(update(text="/stop@handoff_bot", **origin)))
    below = message_in(parse(update(text=None, caption="/stop", photo=PHOTO, **origin)))

    assert (said.text, said.addressee, said.forwarded) == ("", None, "/stop@handoff_bot")
    assert (below.text, below.forwarded, held_by(below)) == ("", "/stop", (Attachment("picture"),))


def test_a_reply_to_a_forwarded_message_is_the_senders() -> None:
    origin = {"forward_origin": {"type": "hidden_user", "sender_user_name": "Eve", "date": 1}}

    assert message_in(parse(update(text="/stop", reply_to_message={"message_id": 41, **origin}))).text == "/stop"


def test_the_bots_name_is_removed_from_a_command() -> None:
    command = {"type": "bot_command", "offset": 0, "length": 19}

    assert (
        message_in(parse(update(chat=GROUP, text="/resume@handoff_bot Fix a@b", entities=[command]))).text
        == "/resume Fix a@b"
    )


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (update(**{"from": BOT}), "bot"),
        (update(text=None, forum_topic_created={"name": "x", "icon_color": 1}), "without text"),
        (update(text=None, pinned_message={"message_id": 7, "photo": [{}]}), "without text"),
        (update(text=None, new_chat_members=[PERSON]), "without text"),
        (update(text=None, video_chat_started={}), "without text"),
        (update("edited_message", text=None, photo=PHOTO), "edited_message"),
        (update("message_reaction", text=None), "message_reaction"),
        (update(text=None, photo=PHOTO, **{"from": BOT}), "bot"),
        (update(text=None, photo=PHOTO, media_group_id=7), "not an update"),
        (update(text=" \n"), "without text"),
        (update(is_automatic_forward=True), "channel's post"),
        (update(**{"from": None}), "without a sender"),
        (update("edited_message"), "edited_message"),
        (update("channel_post"), "channel_post"),
        (update("inline_query"), "inline_query"),
        (press(message=None, inline_message_id="AgAAAB"), "not ours"),
        (press(data=None, game_short_name="chess"), "not ours"),
        (press(**{"from": BOT}), "a bot"),
        (press(data="x" * 65), "not an update"),
        (press(data={"a": 1}), "not an update"),
        (press(id=17), "not an update"),
        (press(id=""), "not an update"),
        (press(message={"chat": PRIVATE, "message_id": "42"}), "not an update"),
        (press(update_id="1"), "not an update"),
        (b'{"update_id": 1, "callback_query": [1]}', "not an update"),
        (b'{"update_id": 1}', "empty"),
        (b"", "not an update"),
        (b"\xff\xfe{", "not an update"),
        (b"[1]", "not an update"),
        (b'{"message": 3}', "not an update"),
        (update(chat={"type": "private"}), "not an update"),
        (update(message_id="../../x"), "not an update"),
        (b"[" * 100_000, "not an update"),
    ],
)
def test_other_updates_are_ignored_with_a_reason(raw: bytes, why: str) -> None:
    parsed = parse(raw)

    assert parsed == Parsed(ignored=parsed.ignored)
    assert why in parsed.ignored


def test_only_the_right_secret_is_accepted() -> None:
    assert is_from_telegram({SECRET_HEADER: "s3cret"}, "s3cret")
    assert not is_from_telegram({SECRET_HEADER: "s3cre"}, "s3cret")
    assert not is_from_telegram({SECRET_HEADER: "ü"}, "s3cret")
    assert not is_from_telegram({}, "s3cret")


@pytest.mark.parametrize("unset", [None, ""])
def test_without_a_secret_nothing_is_accepted(unset: str | None) -> None:
    assert not is_from_telegram({SECRET_HEADER: ""}, unset)
    assert not is_from_telegram({}, unset)


def test_a_file_is_known_by_its_id_and_a_picture_by_its_largest_size() -> None:
    sizes = [{**FILE, "file_id": f"A{n}", "file_size": n, "width": n, "height": n} for n in (90, 320, 1280)]
    picture = message_in(parse(update(text=None, photo=sizes, media_group_id="13")))
    document = message_in(
        parse(update(text=None, document={"file_id": "B1", "file_name": "a.py", "mime_type": "text/x-python"}))
    )

    assert (picture.files, picture.album) == ((ChatFile("picture", "A1280", "", "image/jpeg", 1280),), "13")
    assert document.files == (ChatFile("file", "B1", "a.py", "text/x-python", None),)
