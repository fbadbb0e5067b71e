"""Events in the form that signal-cli sends."""

import json
from typing import Any

import pytest

from local.chats.signal import ACCOUNT, GROUP, OWNER
from shared.domain.attachments import Attachment
from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.platforms.signal.inbound import SIGNATURE, TIME, chat_of_group, group_of_chat, is_from_relay, parse, sign
from shared.ports.inbound import Inbound
from tests.shared.platforms.signal.samples import GROUP_INFO, event, said
from tests.support.webhooks import held_by, message_in

NOW = 1_790_000_000_000
SECRET = "a secret of relay and service"


def read(content: dict[str, Any], **more: Any) -> Inbound:
    return message_in(parse(json.dumps(event(NOW, content, **more)).encode(), ACCOUNT))


def test_only_what_the_relay_signed_just_now_is_accepted() -> None:
    headers = sign(SECRET, b"{}", now=NOW)
    assert is_from_relay(headers, b"{}", SECRET, now=NOW)
    assert is_from_relay(headers, b"{}", SECRET, now=NOW + 299_000)
    assert not is_from_relay(headers, b"{}", SECRET, now=NOW + 400_000)
    assert not is_from_relay(headers, b"{} ", SECRET, now=NOW)
    assert not is_from_relay(headers, b"{}", "another", now=NOW)
    assert not is_from_relay(sign("", b"{}", now=NOW), b"{}", "", now=NOW)
    assert not is_from_relay(headers, b"{}", None, now=NOW)
    for odd in ("", "soon", "-1", "1e9", "9" * 40, "٣" * 8):
        assert not is_from_relay({**headers, TIME: odd}, b"{}", SECRET, now=NOW)
    assert not is_from_relay({TIME: headers[TIME], SIGNATURE: "ü"}, b"{}", SECRET, now=NOW)


def test_a_message_is_said_in_the_chat_with_its_person() -> None:
    found = read(said(NOW, "go on"))
    assert (found.place, found.sender, found.text, found.private) == (Place("signal", OWNER), OWNER, "go on", True)


def test_a_message_in_a_group_is_said_there() -> None:
    found = read(said(NOW, "go on", groupInfo=GROUP_INFO))
    assert (found.place, found.sender, found.private) == (Place("signal", GROUP), OWNER, False)


FILE = {"id": "xYz.jpg", "size": 512, "width": None, "height": None, "caption": None, "uploadTimestamp": NOW}
JPEG = {**FILE, "contentType": "image/jpeg", "filename": "a.jpg"}
CONTACT = {"name": {"display": "Sam"}, "phone": []}


@pytest.mark.parametrize(
    ("content", "attachments"),
    [
        ({"attachments": [JPEG, JPEG]}, [Attachment("picture", 2)]),
        ({"attachments": [{**FILE, "contentType": "text/x-python", "filename": "a.py"}]}, [Attachment("file")]),
        ({"attachments": [{**FILE, "contentType": "audio/aac", "filename": None}]}, [Attachment("voice")]),
        ({"attachments": [{**FILE, "contentType": "audio/mpeg", "filename": "a.mp3"}]}, [Attachment("audio")]),
        ({"attachments": [{**FILE, "contentType": "video/mp4", "filename": None}]}, [Attachment("video")]),
        ({"sticker": {"packId": "9b9e", "stickerId": 3}}, [Attachment("sticker")]),
        ({"contacts": [CONTACT]}, [Attachment("contact")]),
        ({"pollCreate": {"question": "When?", "allowMultiple": False, "options": ["a"]}}, [Attachment("poll")]),
    ],
)
def test_a_message_names_what_it_holds_beside_text(content: dict[str, Any], attachments: list[Attachment]) -> None:
    alone, beside = read(said(NOW, None, **content)), read(said(NOW, "look", **content))

    assert (alone.text, list(held_by(alone))) == ("", attachments)
    assert (beside.text, list(held_by(beside))) == ("look", attachments)


def test_a_long_text_is_a_text() -> None:
    rest = {**FILE, "contentType": "text/x-signal-plain", "filename": None}

    assert read(said(NOW, "long", attachments=[rest])).attachments == ()


@pytest.mark.parametrize(
    "content",
    [
        {"reaction": {"emoji": "👍", "targetSentTimestamp": 1}},
        {"remoteDelete": {"timestamp": 1}},
        {"isExpirationUpdate": True},
        {"pollVote": {"optionIndexes": [1]}},
        {"pinMessage": {"targetSentTimestamp": 1}},
        {"attachments": 7},
    ],
)
def test_what_is_no_message_is_ignored(content: dict[str, Any]) -> None:
    parsed = parse(json.dumps(event(NOW, said(NOW, None, **content))).encode(), ACCOUNT)

    assert parsed.events == ()
    assert parsed.ignored


def test_ids_sort_by_time_and_differ_by_person() -> None:
    other = "70030000-eeee-4eee-8eee-000000000003"
    ids = [read(said(NOW + number)).event_id for number in (0, 1, 10)]
    assert ids == sorted(ids)
    assert read(said(NOW), person=other).event_id != ids[0]


def test_the_id_of_a_group_has_one_form() -> None:
    assert group_of_chat(OWNER) is None
    assert chat_of_group(str(group_of_chat(GROUP))) == GROUP
    for odd in ("", "?", "QUJD", "x" * 44):
        with pytest.raises(ValueError):  # noqa: PT011  # of base64, or of the length
            chat_of_group(odd)


def test_a_file_is_known_by_its_id() -> None:
    assert read(said(NOW, None, attachments=[JPEG])).files == (
        ChatFile("picture", "xYz.jpg", "a.jpg", "image/jpeg", 512),
    )
