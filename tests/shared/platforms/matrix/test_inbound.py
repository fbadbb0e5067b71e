"""Transactions of an application service, and notices of a pusher, in the form that Synapse sends."""

import json
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.attachments import Attachment
from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.platforms.matrix.inbound import is_from_homeserver, parse
from shared.ports.inbound import Announced, Inbound, Invited, Parsed, WebhookRequest
from tests.shared.platforms.matrix.samples import BOT, DIRECT, HOME, OWNER, ROOT, THREAD, event, events, invitation
from tests.support.webhooks import held_by, message_in

SECRET = "s3cret"
PUSH = "_matrix/push/v1/notify"


def transaction(*given: Any) -> WebhookRequest:
    headers = {"authorization": f"Bearer {SECRET}"}
    return WebhookRequest(json.dumps({"events": given}).encode(), headers, "PUT", "_matrix/app/v1/transactions/1")


def notice(**more: Any) -> WebhookRequest:
    """As Synapse 1.163 pushed it."""
    pushed = {
        "content": {"body": "hi", "msgtype": "m.text"},
        "counts": {"unread": 1},
        "devices": [{"app_id": "live.handoff", "data": {}, "pushkey": SECRET, "pushkey_ts": 1, "tweaks": {}}],
        "event_id": ROOT,
        "prio": "high",
        "room_id": HOME,
        "sender": OWNER,
        "type": "m.room.message",
        **more,
    }
    return WebhookRequest(json.dumps({"notification": pushed}).encode(), rest=PUSH)


def message(body: str, **content: Any) -> Inbound:
    return message_in(parse(transaction(event(7, body, **content))))


def test_a_message_is_read_with_its_place_and_its_time() -> None:
    said = message("hi")

    assert (said.place, said.sender, said.text) == (Place("matrix", DIRECT), OWNER, "hi")
    assert said.event_id == "001790000000007.$sample-7"


def test_a_message_in_a_thread_has_the_root_as_its_thread() -> None:
    assert message("hi", **{"m.relates_to": THREAD}).place == Place("matrix", DIRECT, ROOT)


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("!resume a b", "/resume a b"),
        ("!stop", "/stop"),
        ("!important: go on", "!important: go on"),
        ("!", "!"),
        ("/resume", "/resume"),
        ("  hi\n", "hi"),
    ],
)
def test_an_exclamation_mark_makes_a_command(said: str, read: str) -> None:
    assert message(said).text == read


def test_the_quote_of_a_reply_is_left_out() -> None:
    quoted = "> <@sam:chat.test> first\n> second\n\nyes, do"
    reply = {"m.relates_to": {"m.in_reply_to": {"event_id": ROOT}}}

    assert message(quoted, **reply).text == "yes, do"
    assert message("> mine\n\nand more").text == "> mine\n\nand more"
    assert message(quoted, **{"m.relates_to": THREAD}).text == quoted  # in a thread nothing was quoted


def test_a_text_is_not_read_as_a_list_of_events() -> None:
    text = WebhookRequest(json.dumps({"events": "xyz"}).encode(), rest="_matrix/app/v1/transactions/1", method="PUT")

    assert parse(text).ignored == "not what a homeserver sends"


def test_what_cannot_be_read_leaves_the_rest_of_a_transaction() -> None:
    broken: list[Any] = [None, 7, {}, {**event(1), "room_id": 7}, {**event(1), "origin_server_ts": -1}, [[]]]

    parsed = parse(transaction(event(1), *broken, event(2)))

    assert [one.text for one in parsed.events if isinstance(one, Inbound)] == [event(1)["content"]["body"]] * 2


FILE = {"url": "mxc://chat.test/cat", "info": {"mimetype": "image/png", "size": 512}}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"msgtype": "m.image", **FILE}, "picture"),
        ({"msgtype": "m.file", **FILE}, "file"),
        ({"msgtype": "m.audio", **FILE}, "audio"),
        ({"msgtype": "m.audio", "org.matrix.msc3245.voice": {}, **FILE}, "voice"),
        ({"msgtype": "m.video", **FILE}, "video"),
        ({"msgtype": "m.location", "geo_uri": "geo:59.9,10.7"}, "location"),
    ],
)
def test_a_file_is_a_message_and_its_name_is_no_text(content: dict[str, Any], kind: str) -> None:
    named, captioned = message("cat.png", **content), message("!status", **content, filename="cat.png")

    assert (named.text, held_by(named)) == ("", (Attachment(kind),))
    assert message("cat.png", **content, filename="cat.png").text == ""
    assert (captioned.text, held_by(captioned)) == ("/status", (Attachment(kind),))


@pytest.mark.parametrize(
    ("kind", "content", "attachment"),
    [
        ("m.sticker", {"body": "Wave", **FILE}, "sticker"),
        ("m.poll.start", {"m.poll": {"question": {"m.text": []}}, "m.text": []}, "poll"),
        ("org.matrix.msc3381.poll.start", {"org.matrix.msc3381.poll.start": {}}, "poll"),
    ],
)
def test_stickers_and_polls_are_messages_unless_deleted(kind: str, content: dict[str, Any], attachment: str) -> None:
    said = {**event(7), "type": kind, "content": {**content, "m.relates_to": THREAD}}
    found = message_in(parse(transaction(said)))

    assert (found.place, found.text) == (Place("matrix", DIRECT, ROOT), "")
    assert held_by(found) == (Attachment(attachment),)
    assert parse(transaction({**said, "content": {}})).events == ()
    assert [type(one) for one in parse(notice(type=kind)).events] == [Announced]


def test_an_edit_of_a_file_and_an_unknown_kind_are_ignored() -> None:
    replaced = {"rel_type": "m.replace", "event_id": ROOT}
    edit = event(7, "* cat.png", msgtype="m.image", **FILE, **{"m.relates_to": replaced})
    asked = event(7, "Verify me", msgtype="m.key.verification.request")

    assert parse(transaction(edit, asked)).events == ()


@pytest.mark.parametrize("number", [5, 7, 8, 12, 13, 14, 15])
def test_events_without_words_are_ignored(number: int) -> None:
    parsed = parse(transaction(events(1)[number]))

    assert parsed.events == ()
    assert parsed.ignored


def test_an_invitation_names_who_was_invited() -> None:
    assert parse(transaction(invitation())).events == (Invited(Place("matrix", HOME), OWNER, BOT),)


def test_an_encrypted_message_is_an_invitation_to_say_so() -> None:
    assert parse(transaction(events(1)[9])).events == (Invited(Place("matrix", DIRECT), OWNER),)


def test_a_notice_names_a_message() -> None:
    assert parse(notice()).events == (Announced(Place("matrix", HOME), ROOT, OWNER),)


def test_a_notice_may_hold_the_ids_only() -> None:
    ids = {"event_id": ROOT, "room_id": HOME, "devices": [{"pushkey": SECRET}]}
    request = replace(notice(), body=json.dumps({"notification": ids}).encode())

    assert is_from_homeserver(request, SECRET)
    assert parse(request).events == (Announced(Place("matrix", HOME), ROOT, None),)


def test_a_notice_of_an_invitation_holds_all_of_it() -> None:
    member = {"type": "m.room.member", "membership": "invite"}

    assert parse(notice(**member, user_is_target=True)).events == (Invited(Place("matrix", HOME), OWNER),)
    assert parse(notice(**member, user_is_target=False)).events == ()


@pytest.mark.parametrize(
    "odd", [{"event_id": 7}, {"event_id": "no dollar"}, {"room_id": "#alias:chat.test"}, {"sender": 7}, {"type": "m.x"}]
)
def test_an_odd_notice_is_ignored(odd: dict[str, Any]) -> None:
    assert parse(notice(**odd)).events == ()


def test_the_key_of_the_pusher_is_checked() -> None:
    assert is_from_homeserver(notice(), SECRET)
    odd: list[Any] = [[], [{}], [{"pushkey": 7}], [{"pushkey": "other"}], None, [{"pushkey": SECRET}, {"pushkey": "x"}]]
    for devices in odd:
        assert not is_from_homeserver(notice(devices=devices), SECRET)
    for secret in (None, "", "other"):
        assert not is_from_homeserver(notice(), secret)
    assert not is_from_homeserver(replace(notice(), rest=""), SECRET)
    assert not is_from_homeserver(replace(transaction(), rest=PUSH), SECRET)  # a token does not stand for the key


def test_questions_for_users_and_rooms_are_denied() -> None:
    parsed = parse(replace(transaction(), method="GET", rest="_matrix/app/v1/users/@x:chat.test"))

    assert isinstance(parsed, Parsed)
    assert parsed.answer is not None
    assert parsed.answer.status == 404


def test_a_ping_is_answered() -> None:
    parsed = parse(replace(transaction(), method="POST", rest="_matrix/app/v1/ping", body=b'{"transaction_id": "1"}'))

    assert parsed.answer is not None
    assert (parsed.events, parsed.answer.status) == ((), 200)


def test_a_file_is_known_by_its_server_and_id_unless_it_is_encrypted() -> None:
    said = message("look", msgtype="m.image", **FILE, filename="cat.png")
    encrypted = message("cat.png", msgtype="m.image", file={"url": "mxc://chat.test/cat", "key": {}}, info={})
    odd = [
        message("cat.png", msgtype="m.file", url=url) for url in ("https://a.example/x", "mxc://a/../b", "mxc://a", 7)
    ]

    assert (said.files, said.attachments) == ((ChatFile("picture", "chat.test/cat", "cat.png", "image/png", 512),), ())
    assert (encrypted.files, encrypted.attachments) == ((), (Attachment("picture"),))
    assert [(one.files, one.attachments) for one in odd] == [((), (Attachment("file"),))] * 4
