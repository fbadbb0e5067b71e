"""Callbacks in the form that Slack sends."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from slack_sdk.signature import Clock, SignatureVerifier

from shared.domain.attachments import Attachment
from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.platforms.slack.inbound import is_from_slack, parse
from shared.ports.inbound import Answer, Inbound, Parsed, Pressed
from tests.support.webhooks import held_by, message_in, press_in

NOW = 1_790_000_000_000
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


def callback(**event: Any) -> bytes:
    given = {"type": "message", "user": "U7001", "text": "hi", "channel": "C0HOME", "channel_type": "channel", **event}
    given.setdefault("ts", "1790000000.000100")
    body = {
        "type": "event_callback",
        "team_id": "T1",
        "event": {name: value for name, value in given.items() if value is not None},
        "event_id": "Ev1",
        "authorizations": [{"team_id": "T1", "user_id": "U9001", "is_bot": True}],
    }
    return json.dumps(body).encode()


def heard(raw: bytes, headers: Mapping[str, str] | None = None) -> Inbound:
    return message_in(parse(headers or {}, raw))


@pytest.mark.parametrize(
    ("event", "place"),
    [
        ({}, Place("slack", "C0HOME")),
        ({"thread_ts": "1789999999.000001"}, Place("slack", "C0HOME", "1789999999.000001")),
        ({"thread_ts": "1790000000.000100"}, Place("slack", "C0HOME")),
        ({"channel": "D0OWNER", "channel_type": "im"}, Place("slack", "D0OWNER")),
        (
            {"channel": "D0OWNER", "channel_type": "im", "thread_ts": "1789999999.000001"},
            Place("slack", "D0OWNER", "1789999999.000001"),
        ),
        (
            {"subtype": "thread_broadcast", "thread_ts": "1789999999.000001"},
            Place("slack", "C0HOME", "1789999999.000001"),
        ),
    ],
    ids=["channel", "thread", "a thread's own first message", "direct", "thread in direct", "also sent to the channel"],
)
def test_a_message_comes_from_the_channel_or_its_thread(event: Mapping[str, Any], place: Place) -> None:
    inbound = heard(callback(**event))

    assert (inbound.place, inbound.sender, inbound.text) == (place, "U7001", "hi")


def test_a_message_and_the_mention_in_it_are_one_event() -> None:
    plain = heard(callback(text="<@U9001> hi"))
    mention = heard(callback(type="app_mention", text="<@U9001> hi", channel_type=None))

    assert plain == mention
    assert plain.text == "hi"


def test_ids_sort_in_the_order_of_writing() -> None:
    moments = ["999999999.999999", "1790000000.000100", "1790000000.000101", "1790000001.000000"]
    ids = [heard(callback(ts=ts)).event_id for ts in moments]

    assert ids == sorted(ids)


@pytest.mark.parametrize(
    ("sent", "typed"),
    [
        ("a &lt;b&gt; &amp;&amp; c", "a <b> && c"),
        ("see <https://e.org/a?b=1&amp;c=2>", "see https://e.org/a?b=1&c=2"),
        ("see <https://e.org|e.org>", "see https://e.org"),
        ("see <https://e.org|the docs>", "see the docs (https://e.org)"),
        ("mail <mailto:me@e.org|me@e.org>", "mail me@e.org"),
        ("in <#C1|general>, <!here> and <!subteam^S1|@team>", "in #general, @here and @team"),
        ("<@U9001>: /resume Fix", "/resume Fix"),
        ("ask <@U7002>", "ask <@U7002>"),
    ],
)
def test_the_text_is_what_the_person_typed(sent: str, typed: str) -> None:
    assert heard(callback(text=sent)).text == typed


def file(**more: Any) -> dict[str, Any]:
    private = "https://files.slack.com/files-pri/T1-F1/plan"
    return {"id": "F1", "name": "plan", "mode": "hosted", "size": 512, "url_private": private, **more}


def shared(text: str, **more: Any) -> dict[str, Any]:
    """A message that a person has forwarded."""
    origin = {"from_url": "https://a.slack.com/archives/C1/p1", "author_id": "U7002", "ts": "1780000000.000100"}
    return {**origin, "is_msg_unfurl": True, "is_share": True, "text": text, "fallback": f"[date] Sam: {text}", **more}


@pytest.mark.parametrize(
    ("files", "attachments"),
    [
        ([file(mimetype="image/png", filetype="png")], [Attachment("picture")]),
        ([file(mimetype="text/plain", mode="snippet")] * 2, [Attachment("file", 2)]),
        ([file(mimetype="audio/mp4", subtype="slack_audio")], [Attachment("voice")]),
        ([file(mimetype="video/mp4", subtype="slack_video")], [Attachment("video")]),
        ([file(mimetype="audio/mpeg")], [Attachment("audio")]),
        ([{"id": "F1", "file_access": "check_file_info"}], [Attachment("file")]),
    ],
)
def test_a_message_with_files_names_their_kinds(files: list[Any], attachments: list[Attachment]) -> None:
    alone = heard(callback(subtype="file_share", text="", files=files))
    beside = heard(callback(subtype="file_share", text="look", files=files))

    assert (alone.text, list(held_by(alone))) == ("", attachments)
    assert (beside.text, list(held_by(beside))) == ("look", attachments)


def test_a_shared_message_is_forwarded_and_the_comment_is_the_senders() -> None:
    alone = heard(callback(text="", attachments=[shared("/stop &amp; go")]))
    beside = heard(callback(text="<@U9001> read this", attachments=[shared("/stop"), shared("two")]))
    linked = heard(callback(text="see", attachments=[{"is_msg_unfurl": True, "text": "linked"}]))

    assert (alone.text, alone.forwarded) == ("", "/stop & go")
    assert (beside.text, beside.forwarded) == ("read this", "/stop\n\ntwo")
    assert (linked.text, linked.forwarded) == ("see", "")


def test_a_shared_message_without_text_names_what_it_holds() -> None:
    picture = heard(callback(text="", attachments=[shared("", files=[file(mimetype="image/png")])]))
    blocks = heard(callback(text="", attachments=[shared("", fallback="[no preview available]")]))

    assert held_by(picture) == (Attachment("picture"),)
    assert held_by(blocks) == (Attachment("other"),)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("piece", ["<#", "<!", "<http://", "<mailto:", "<#a|", "<@U9001", "&#9"])
def test_a_text_of_open_brackets_takes_linear_time(piece: str) -> None:
    assert heard(callback(text="a" + piece * 200_000)).text.startswith("a")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (callback(bot_id="B1"), "bot"),
        (callback(user="U9001"), "bot"),
        (callback(subtype="message_changed", message={}), "message_changed"),
        (callback(subtype="channel_join"), "channel_join"),
        (callback(subtype="message_deleted", files=[{"id": "F1"}]), "message_deleted"),
        (callback(text="", bot_id="B1", files=[{"id": "F1"}]), "bot"),
        (callback(text="", attachments=[{"is_msg_unfurl": True, "text": "linked"}]), "without text"),
        (callback(text="", files="x"), "not a callback"),
        (callback(type="reaction_added"), "another kind"),
        (callback(text=""), "without text"),
        (callback(text="<@U9001> "), "without text"),
        (callback(ts="now"), "not a callback"),
        (callback(user=None), "not a callback"),
        (b'{"type": "app_rate_limited"}', "another kind"),
        (b"{}", "not a callback"),
        (b"\xff", "not a callback"),
        (b"[" * 100_000, "not a callback"),
    ],
)
def test_other_updates_are_ignored_with_a_reason(raw: bytes, why: str) -> None:
    parsed = parse({}, raw)

    assert parsed == Parsed(ignored=parsed.ignored)
    assert why in parsed.ignored


def test_the_handshake_is_answered_with_its_challenge() -> None:
    parsed = parse({}, b'{"type": "url_verification", "token": "t", "challenge": "3eZbrw"}')

    assert parsed == Parsed(answer=Answer({"challenge": "3eZbrw"}))


def test_a_slash_command_is_a_message_with_an_answer() -> None:
    form = {"command": "/resume", "text": "Fix it", "channel_id": "C0HOME", "user_id": "U7001", "trigger_id": "1.2.a"}
    headers = {"content-type": "application/x-www-form-urlencoded", "x-slack-request-timestamp": "1790000000"}

    inbound = heard(urlencode(form).encode(), headers)

    assert (inbound.place, inbound.sender, inbound.text) == (Place("slack", "C0HOME"), "U7001", "/resume Fix it")
    assert parse(headers, urlencode(form).encode()).answer is not None
    assert heard(urlencode(form).encode(), headers) == inbound
    assert heard(urlencode(form | {"trigger_id": "1.2.b"}).encode(), headers).event_id != inbound.event_id


FORM = {"content-type": "application/x-www-form-urlencoded", "x-slack-request-timestamp": "1790000000"}


def press(**changed: Any) -> bytes:
    button = {"type": "button", "action_id": "allow:1", "value": "allow:1", "action_ts": "1790000002.5"}
    container = {"type": "message", "message_ts": "1790000001.000100", "channel_id": "C0HOME", "is_ephemeral": False}
    payload = {
        "type": "block_actions",
        "user": {"id": "U7001", "username": "olivia"},
        "container": {**container, "thread_ts": "1790000000.000100"},
        "response_url": "https://hooks.slack.com/actions/T1/2/abc",
        "actions": [button],
    }
    return urlencode({"payload": json.dumps(payload | changed)}).encode()


def contained(**changed: Any) -> dict[str, Any]:
    return {"type": "message", "message_ts": "1790000001.000100", "channel_id": "C0HOME", **changed}


@pytest.mark.parametrize(
    ("container", "place", "private"),
    [
        (contained(thread_ts="1790000000.000100"), Place("slack", "C0HOME", "1790000000.000100"), False),
        (contained(), Place("slack", "C0HOME"), False),
        (contained(thread_ts="1790000001.000100"), Place("slack", "C0HOME"), False),
        (contained(channel_id="D0OWNER"), Place("slack", "D0OWNER"), True),
    ],
    ids=["thread", "channel", "the message that a thread hangs on", "direct message"],
)
def test_a_press_comes_from_the_place_of_its_message(container: dict[str, Any], place: Place, *, private: bool) -> None:
    parsed = parse(FORM, press(container=container))

    assert press_in(parsed) == Pressed(
        event_id="001790000002.500000000",
        place=place,
        sender="U7001",
        button="allow:1",
        message="1790000001.000100",
        handle="https://hooks.slack.com/actions/T1/2/abc",
        private=private,
    )
    assert parsed.answer == Answer("")


@pytest.mark.parametrize(
    "changed",
    [
        {"type": "view_submission"},
        {"container": {"type": "view", "view_id": "V1"}},
        {"container": contained(message_ts="soon")},
        {"container": contained(thread_ts="soon")},
        {"container": contained(channel_id="#general")},
        {"container": None},
        {"user": {"id": "olivia"}},
        {"user": None},
        {"actions": []},
        {"actions": [{"type": "static_select", "action_id": "a", "action_ts": "1790000002.5"}]},
        {"actions": [{"type": "button", "action_id": "x" * 65, "action_ts": "1790000002.5"}]},
        {"actions": [{"type": "button", "action_id": 7, "action_ts": "1790000002.5"}]},
        {"actions": [{"type": "button", "action_id": "a", "action_ts": "now"}]},
        {"actions": [{"type": "button", "action_id": "a"}] * 2},
        {"response_url": None},
        {"response_url": "https://hooks.slack.com/a b"},
    ],
)
def test_other_interactions_are_ignored(changed: dict[str, Any]) -> None:
    parsed = parse(FORM, press(**changed))

    assert parsed.events == ()
    assert parsed.ignored


class FixedClock(Clock):
    def now(self) -> float:
        return NOW / 1000


def signed(raw: bytes, *, timestamp: str = str(NOW // 1000), secret: str = SECRET) -> dict[str, str]:
    signature = SignatureVerifier(secret, FixedClock()).generate_signature(timestamp=timestamp, body=raw)
    return {"x-slack-request-timestamp": timestamp, "x-slack-signature": str(signature)}


def test_a_signature_of_slacks_verifier_is_accepted() -> None:
    raw = callback(text="naïve 🚀")

    assert is_from_slack(signed(raw), raw, SECRET, now=NOW)


@pytest.mark.parametrize("seconds", [-301, 301, -86_400])
def test_an_old_or_future_signature_is_refused(seconds: int) -> None:
    raw = callback()

    assert not is_from_slack(signed(raw, timestamp=str(NOW // 1000 + seconds)), raw, SECRET, now=NOW)


@pytest.mark.parametrize("seconds", [-299, 299])
def test_clocks_may_differ_by_some_minutes(seconds: int) -> None:
    raw = callback()

    assert is_from_slack(signed(raw, timestamp=str(NOW // 1000 + seconds)), raw, SECRET, now=NOW)


@pytest.mark.parametrize("timestamp", ["", "soon", "-5", "１７９００００００００", "1e9", "9" * 400])
def test_a_timestamp_that_is_not_a_number_is_refused(timestamp: str) -> None:
    raw = callback()

    assert not is_from_slack(signed(raw, timestamp=timestamp), raw, SECRET, now=NOW)


def test_tampered_bytes_and_other_secrets_are_refused() -> None:
    raw = callback()

    assert not is_from_slack(signed(raw), raw + b" ", SECRET, now=NOW)
    assert not is_from_slack(signed(raw, secret="other"), raw, SECRET, now=NOW)
    assert not is_from_slack({**signed(raw), "x-slack-signature": "v0=ü"}, raw, SECRET, now=NOW)
    assert not is_from_slack({}, raw, SECRET, now=NOW)


@pytest.mark.parametrize("unset", [None, ""])
def test_without_a_secret_nothing_is_accepted(unset: str | None) -> None:
    raw = callback()

    assert not is_from_slack(signed(raw), raw, unset, now=NOW)


def test_a_file_is_known_by_its_id_unless_slack_only_links_it() -> None:
    named = heard(callback(subtype="file_share", text="", files=[file(mimetype="image/png")]))
    absent = [file(mode="external", mimetype="text/plain"), file(mode="tombstone"), {"mimetype": "text/plain"}]
    linked = heard(callback(subtype="file_share", text="", files=absent))

    assert (named.files, named.attachments) == ((ChatFile("picture", "F1", "plan", "image/png", 512),), ())
    assert (linked.files, linked.attachments) == ((), (Attachment("file", 3),))
