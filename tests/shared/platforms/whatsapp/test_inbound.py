"""Batches in the form that WhatsApp sends."""

import hashlib
import hmac
import json
import logging
from typing import Any

import pytest

from local.chats.whatsapp import PHONE_NUMBER_ID
from shared.domain.attachments import Attachment
from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.platforms.whatsapp.inbound import is_from_whatsapp, parse
from shared.ports.inbound import Answer, Heard, Inbound, Parsed, Pressed, Receipt, WebhookRequest
from tests.shared.platforms.whatsapp.samples import OWNER, STRANGER, batch, failed, message, pressed, report
from tests.support.webhooks import done_in, held_by, message_in, press_in

SECRET, TOKEN = "5d41402abc4b2a76b9719d911017c592", "a verify token"
SECOND = 1_790_000_000
HOME = Place("whatsapp", OWNER)


def read(*values: dict[str, Any], number: str | None = PHONE_NUMBER_ID) -> Parsed:
    return parse(WebhookRequest(json.dumps(batch(*values)).encode()), number)


def signed(raw: bytes, secret: str = SECRET) -> WebhookRequest:
    digest = hmac.new(secret.encode(), raw, hashlib.sha256).hexdigest()
    return WebhookRequest(raw, {"x-hub-signature-256": f"sha256={digest}"})


def check_url(**query: str) -> WebhookRequest:
    return WebhookRequest(b"", method="GET", query={f"hub.{name}": value for name, value in query.items()})


def test_only_the_signed_bytes_are_accepted() -> None:
    good = signed(b'{"entry": []}')
    assert is_from_whatsapp(good, SECRET, TOKEN)
    assert not is_from_whatsapp(WebhookRequest(good.body + b" ", good.headers), SECRET, TOKEN)
    assert not is_from_whatsapp(signed(b"{}", "another"), SECRET, TOKEN)
    assert not is_from_whatsapp(WebhookRequest(b"{}"), SECRET, TOKEN)
    for unset in (None, ""):
        assert not is_from_whatsapp(signed(b"{}", ""), unset, TOKEN)


def test_a_check_of_the_url_needs_the_verify_token() -> None:
    asked = check_url(mode="subscribe", verify_token=TOKEN, challenge="1158201444")
    assert is_from_whatsapp(asked, SECRET, TOKEN)
    assert parse(asked, PHONE_NUMBER_ID).answer == Answer("1158201444")
    assert not is_from_whatsapp(asked, SECRET, "another")
    assert not is_from_whatsapp(asked, SECRET, None)
    assert not is_from_whatsapp(check_url(mode="subscribe", verify_token="", challenge="1"), SECRET, "")
    assert not is_from_whatsapp(check_url(mode="unsubscribe", verify_token=TOKEN), SECRET, TOKEN)
    assert parse(check_url(challenge="<b>\n"), PHONE_NUMBER_ID).answer == Answer("")


def test_a_message_is_said_in_the_chat_with_its_person() -> None:
    parsed = read({"messages": [message(SECOND, "go on")]})

    said = message_in(parsed)
    assert (said.place, said.sender, said.text, said.private) == (HOME, OWNER, "go on", True)
    assert Heard(HOME, OWNER, SECOND * 1000) in parsed.events


def test_every_message_of_a_batch_is_read_and_an_odd_one_hides_none() -> None:
    odd: list[Any] = [None, 7, {}, {"from": OWNER}, message(1, "x", timestamp="soon"), message(1, "x", person="0x1")]
    more = {"messages": [message(SECOND + 1, "two"), *odd, message(SECOND + 2, "three", person=STRANGER)]}

    said = read({"messages": [*odd, message(SECOND, "one")]}, more).events

    texts = [(event.sender, event.text) for event in said if isinstance(event, Inbound)]
    assert texts == [(OWNER, "one"), (OWNER, "two"), (STRANGER, "three")]


def test_ids_sort_by_time_and_are_the_same_on_every_delivery() -> None:
    ids = [message_in(read({"messages": [message(SECOND + number)]})).event_id for number in (0, 1, 9, 10, 100)]

    assert ids == sorted(ids)
    assert ids[0] == message_in(read({"messages": [message(SECOND)]}, {"statuses": []})).event_id
    same_second = [message(SECOND, id="wamid.A"), message(SECOND, id="wamid.B")]
    assert len({event.event_id for event in read({"messages": same_second}).events if isinstance(event, Inbound)}) == 2


@pytest.mark.parametrize("kind", ["button_reply", "list_reply"])
def test_a_press_names_the_button_and_its_message(kind: str) -> None:
    found = press_in(read({"messages": [pressed(SECOND, "allow:1", kind)]}))

    assert (found.button, found.message, found.place, found.private) == ("allow:1", "wamid.OUT1", HOME, True)
    assert found.handle == f"wamid.HBg{SECOND}"
    assert isinstance(found, Pressed)


@pytest.mark.parametrize("kind", ["image", "reaction", "button", "unsupported", "location"])
def test_anything_that_a_person_sends_opens_the_window(kind: str) -> None:
    parsed = read({"messages": [message(SECOND, None, type=kind)]})

    assert parsed.events[-1] == Heard(HOME, OWNER, SECOND * 1000)


MEDIA = {"id": "1003383421387256", "mime_type": "image/jpeg", "sha256": "3f9d94"}


def said(kind: str, content: Any = MEDIA, **more: Any) -> Inbound:
    return message_in(read({"messages": [message(SECOND, None, type=kind, **{kind: content}, **more)]}))


@pytest.mark.parametrize(
    ("kind", "content", "attachment"),
    [
        ("image", MEDIA, "picture"),
        ("video", MEDIA, "video"),
        ("document", {**MEDIA, "filename": "a.py"}, "file"),
        ("audio", {**MEDIA, "mime_type": "audio/ogg; codecs=opus", "voice": True}, "voice"),
        ("audio", {**MEDIA, "mime_type": "audio/mpeg", "voice": False}, "audio"),
        ("sticker", {**MEDIA, "animated": False}, "sticker"),
        ("location", {"latitude": 59.9, "longitude": 10.7}, "location"),
        ("contacts", [{"name": {"formatted_name": "Sam"}, "phones": []}], "contact"),
        ("order", {"catalog_id": "1", "product_items": []}, "other"),
        ("unsupported", {"type": "poll_creation"}, "poll"),
    ],
)
def test_a_message_without_text_names_what_it_holds(kind: str, content: Any, attachment: str) -> None:
    found = said(kind, content)

    assert (found.text, held_by(found)) == ("", (Attachment(attachment),))


def test_a_caption_is_text_beside_its_picture() -> None:
    found = said("image", {**MEDIA, "caption": "look"})

    assert (found.text, held_by(found)) == ("look", (Attachment("picture"),))


@pytest.mark.parametrize("mark", ["forwarded", "frequently_forwarded"])
def test_a_forwarded_message_is_not_the_senders(mark: str) -> None:
    words, below = said("text", {"body": "/stop"}, context={mark: True}), said("image", MEDIA, context={mark: True})

    assert (words.text, words.forwarded) == ("", "/stop")
    assert (below.text, held_by(below)) == ("", (Attachment("picture"),))
    assert said("text", {"body": "/stop"}, context={"from": OWNER, "id": "wamid.OUT1"}).text == "/stop"


@pytest.mark.parametrize("kind", ["poll_update", "pin", "reaction", "keep_in_chat", "errors", None])
def test_what_the_api_withholds_is_a_message_only_if_it_is_known(kind: str | None) -> None:
    """A deletion is posted as an unsupported message, too."""
    entry = message(SECOND, None, type="unsupported", errors=[{"code": 131051}])
    entry |= {} if kind is None else {"unsupported": {"type": kind}}

    assert done_in(read({"messages": [entry]})) == []


@pytest.mark.parametrize(
    "entry", [message(SECOND, None, type="system"), message(SECOND, group_id="Y2Fw"), message(SECOND, "")]
)
def test_what_is_not_said_to_the_bot_alone_is_no_message(entry: dict[str, Any]) -> None:
    assert done_in(read({"messages": [entry]})) == []


def test_messages_to_another_number_of_the_business_are_ignored() -> None:
    for number in ("1", None, ""):
        parsed = read({"messages": [message(SECOND)]}, number=number)
        assert parsed.events == ()
        assert parsed.ignored


@pytest.mark.parametrize("status", ["sent", "delivered", "read", "played"])
def test_a_report_with_a_key_is_a_receipt(status: str) -> None:
    parsed = read({"statuses": [report(7, status, biz_opaque_callback_data="s-1/t-1/0"), report(8, status)]})

    assert parsed.events == (Receipt(HOME, "s-1/t-1/0", "wamid.OUT7"),)


@pytest.mark.parametrize(
    ("code", "events"),
    [
        (131047, (Receipt(HOME, "s/t/0", None),)),
        (131026, (Receipt(HOME, "s/t/0", None),)),
        (131056, ()),
        (131000, ()),
        (None, ()),
    ],
)
def test_only_a_final_failure_is_a_refusal(
    code: Any, events: tuple[Any, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """A message that failed for the moment is sent again, if nothing else is known of it."""
    caplog.set_level(logging.WARNING)

    assert read({"statuses": [failed(7, code, biz_opaque_callback_data="s/t/0")]}).events == events
    assert str(code if code else "unknown") in caplog.text


@pytest.mark.parametrize("key", ["", " ", "é", "x" * 3000, 7, None, ["x"]])
def test_an_odd_key_is_no_receipt(key: Any) -> None:
    assert read({"statuses": [report(7, biz_opaque_callback_data=key)]}).events == ()


def test_a_file_is_known_by_its_id() -> None:
    found = said("document", {**MEDIA, "id": "1003", "mime_type": "text/x-python", "filename": "a.py"})

    assert (found.files, found.attachments) == ((ChatFile("file", "1003", "a.py", "text/x-python"),), ())
