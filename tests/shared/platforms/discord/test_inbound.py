"""Webhooks of Discord and of our relay, in the form that Discord sends."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from nacl.signing import SigningKey

from shared.domain.attachments import Attachment
from shared.domain.files import ChatFile
from shared.domain.routes import Place
from shared.platforms.discord.adapter import Discord
from shared.platforms.discord.signatures import DISCORD_SIGNATURE, DISCORD_TIMESTAMP, relay_headers
from shared.ports.inbound import Answer, Inbound, Parsed, Pressed, WebhookRequest
from shared.settings import Settings
from tests.support.secrets import FakeSecrets
from tests.support.webhooks import held_by, message_in, press_in

NOW = 1_790_000_000_000
KEY = SigningKey(b"\x07" * 32)
DISCORD = {DISCORD_SIGNATURE: "any: verified before"}
RELAY: dict[str, str] = {}

AUTHOR = {
    "id": "7001000000000000001",
    "username": "olivia",
    "global_name": "Olivia",
    "discriminator": "0",
    "avatar": None,
    "public_flags": 0,
}
BOT = {**AUTHOR, "id": "9001000000000000001", "username": "handoff", "bot": True}
# A message in a thread: it names the thread as its channel, and no parent.
MESSAGE: dict[str, Any] = {
    "id": "1334385199974967042",
    "channel_id": "1334384000000000000",
    "guild_id": "8001000000000000001",
    "author": AUTHOR,
    "member": {"roles": [], "joined_at": "2024-01-01T00:00:00+00:00", "deaf": False, "mute": False, "flags": 0},
    "content": "and the tests?",
    "timestamp": "2026-11-16T09:26:01.123000+00:00",
    "edited_timestamp": None,
    "tts": False,
    "mention_everyone": False,
    "mentions": [],
    "mention_roles": [],
    "attachments": [],
    "embeds": [],
    "pinned": False,
    "type": 0,
    "flags": 0,
    "components": [],
    "nonce": "1334385199000000000",
}
COMMAND = {
    "id": "1334385200000000001",
    "application_id": "9001000000000000001",
    "type": 2,
    "token": "interaction-token",
    "version": 1,
    "guild_id": "8001000000000000001",
    "channel_id": "1334384000000000000",
    "channel": {"id": "1334384000000000000", "type": 11, "parent_id": "6001000000000000001"},
    "member": {"user": AUTHOR, "roles": [], "permissions": "0"},
    "locale": "en-GB",
    "data": {
        "id": "1",
        "name": "say",
        "type": 1,
        "options": [{"name": "text", "type": 3, "value": "and the tests?"}],
    },
}


def platform(secrets: Mapping[str, str] | None = None) -> Discord:
    return Discord(Settings("handoffs", "sessions", "turns"), FakeSecrets(secrets))


def relayed(kind: str = "MESSAGE_CREATE", **changed: Any) -> Parsed:
    return platform().parse(WebhookRequest(json.dumps({"t": kind, "d": {**MESSAGE, **changed}}).encode(), RELAY))


def interaction(**changed: Any) -> Parsed:
    return platform().parse(WebhookRequest(json.dumps({**COMMAND, **changed}).encode(), DISCORD))


def command(name: str, *values: Any) -> Parsed:
    options = [{"name": "argument", "type": 3, "value": value} for value in values]
    return interaction(data={"id": "1", "name": name, "type": 1, "options": options})


def reply_in(parsed: Parsed) -> dict[str, Any]:
    """The message that the answer to a webhook shows."""
    assert parsed.answer is not None
    assert isinstance(parsed.answer.body, dict)
    shown: dict[str, Any] = parsed.answer.body["data"]
    return shown


def assert_ignored(parsed: Parsed) -> None:
    assert parsed == Parsed(ignored=parsed.ignored)
    assert parsed.ignored


def test_a_message_in_a_thread_comes_from_the_threads_place() -> None:
    assert message_in(relayed()) == Inbound(
        event_id="01334385199974967042",
        place=Place("discord", "1334384000000000000"),
        sender="7001000000000000001",
        text="and the tests?",
        name="Olivia",
        written_at=1_738_212_623_352,
    )


def test_a_reply_to_a_message_is_a_message() -> None:
    assert message_in(relayed(type=19, referenced_message=MESSAGE)).text == MESSAGE["content"]


def test_event_ids_sort_in_the_order_of_writing() -> None:
    ids = ["999", "1000", "1334385199974967042", "10000000000000000000"]
    events = [message_in(relayed(id=snowflake)).event_id for snowflake in ids]
    assert events == sorted(events)
    assert len(set(events)) == 4


@pytest.mark.parametrize("mention", ["<@9001000000000000001> ", " <@!9001000000000000001>, "])
def test_a_mention_of_the_bot_at_the_start_is_removed(mention: str) -> None:
    assert (
        message_in(relayed(content=f"{mention}what about <@9001000000000000001>?", mentions=[BOT])).text
        == "what about <@9001000000000000001>?"
    )


def test_a_mention_of_a_person_at_the_start_stays() -> None:
    assert (
        message_in(relayed(content="<@7001000000000000001> said so", mentions=[AUTHOR])).text
        == "<@7001000000000000001> said so"
    )


def attached(content_type: str | None = None) -> dict[str, Any]:
    url = "https://cdn.discordapp.com/attachments/1/2/plan?ex=1&is=2&hm=3"
    typed = {} if content_type is None else {"content_type": content_type}
    return {"id": "1334385199000000001", "filename": "plan", "size": 512, "url": url, "proxy_url": url, **typed}


@pytest.mark.parametrize(
    ("changed", "attachments"),
    [
        ({"attachments": [attached("image/png"), attached("image/jpeg")]}, [Attachment("picture", 2)]),
        ({"attachments": [attached("audio/ogg")], "flags": 1 << 13}, [Attachment("voice")]),
        ({"attachments": [attached("audio/mpeg"), attached()]}, [Attachment("audio"), Attachment("file")]),
        ({"sticker_items": [{"id": "749054660769218631", "name": "Wave", "format_type": 3}]}, [Attachment("sticker")]),
        ({"poll": {"question": {"text": "When?"}, "answers": [], "expiry": None}}, [Attachment("poll")]),
    ],
)
def test_a_message_with_files_names_their_kinds(changed: dict[str, Any], attachments: list[Attachment]) -> None:
    alone, beside = message_in(relayed(content="", **changed)), message_in(relayed(**changed))

    assert (alone.text, list(held_by(alone))) == ("", attachments)
    assert (beside.text, list(held_by(beside))) == (MESSAGE["content"], attachments)


def forward(**snapshot: Any) -> Inbound:
    """As Discord sends it: the message itself has no content."""
    origin = {"type": 1, "channel_id": "1334384000000000007", "message_id": "1334384000000000008"}
    message = {"type": 0, "content": "", "embeds": [], "attachments": [], "flags": 0, "components": [], **snapshot}
    snapshots = [{"message": message}]
    return message_in(relayed(content="", flags=1 << 14, message_reference=origin, message_snapshots=snapshots))


def test_a_forwarded_message_is_not_the_senders() -> None:
    words, picture, embeds = (
        forward(content="/stop"),
        forward(attachments=[attached("image/png")]),
        forward(embeds=[{}]),
    )

    assert (words.text, words.forwarded) == ("", "/stop")
    assert (picture.text, held_by(picture)) == ("", (Attachment("picture"),))
    assert (embeds.text, held_by(embeds)) == ("", (Attachment("other"),))


@pytest.mark.parametrize(
    "changed",
    [
        {"author": BOT, "attachments": [attached("image/png")]},
        {"content": "", "type": 6, "attachments": [attached("image/png")]},
        {"content": "", "attachments": 7},
        {"content": "", "message_snapshots": [7]},
        {"author": BOT},
        {"author": {**AUTHOR, "system": True}},
        {"webhook_id": "5"},
        {"content": ""},
        {"content": " \n"},
        {"content": "<@9001000000000000001>", "mentions": [BOT]},
        *({"type": kind} for kind in (3, 6, 7, 8, 18, 20, 21, 24, 46)),
    ],
)
def test_messages_not_written_by_a_person_are_ignored(changed: dict[str, Any]) -> None:
    assert_ignored(relayed(**changed))


@pytest.mark.parametrize("kind", ["MESSAGE_UPDATE", "MESSAGE_DELETE", "TYPING_START"])
def test_other_events_of_the_gateway_are_ignored(kind: str) -> None:
    assert_ignored(relayed(kind))


def test_a_relayed_command_equals_one_from_discord() -> None:
    raw = json.dumps({"t": "INTERACTION_CREATE", "d": COMMAND}).encode()
    assert platform().parse(WebhookRequest(raw, RELAY)) == interaction()


def test_a_ping_is_answered_with_a_pong() -> None:
    ping = WebhookRequest(b'{"type":1,"id":"1","application_id":"2"}', DISCORD)
    assert platform().parse(ping) == Parsed(answer=Answer({"type": 1}))


def test_say_is_a_message_and_is_shown_in_the_thread() -> None:
    parsed = interaction()
    heard = message_in(parsed)
    assert (heard.event_id, heard.place, heard.sender, heard.text) == (
        "01334385200000000001",
        Place("discord", "1334384000000000000"),
        "7001000000000000001",
        "and the tests?",
    )
    assert parsed.answer == Answer(
        {"type": 4, "data": {"content": "> and the tests?", "flags": 0, "allowed_mentions": {"parse": []}}}
    )


def test_a_long_text_is_complete_and_its_quote_is_cut() -> None:
    for text in ("x" * 6000, "a\n" * 3000):
        parsed = command("say", text)
        assert message_in(parsed).text == text.strip()
        assert len(reply_in(parsed)["content"]) <= 2000


@pytest.mark.parametrize("name", ["resume", "new", "sethome", "status", "stop", "help", "handoff"])
def test_a_slash_command_becomes_its_text(name: str) -> None:
    bare, with_argument = command(name), command(name, " fix the build ")
    assert message_in(bare).text == f"/{name}"
    assert message_in(with_argument).text == f"/{name} fix the build"
    assert reply_in(bare)["flags"] == 64


def test_a_command_in_a_direct_message_has_its_sender() -> None:
    assert message_in(interaction(member=None, user=AUTHOR, guild_id=None)).sender == "7001000000000000001"


@pytest.mark.parametrize(("name", "values"), [("dance", ()), ("say", ()), ("say", ("  ",))])
def test_an_unknown_or_empty_command_is_only_answered(name: str, values: tuple[str, ...]) -> None:
    parsed = command(name, *values)
    assert parsed.events == ()
    assert reply_in(parsed)["flags"] == 64


@pytest.mark.parametrize("kind", [3, 4, 5])
def test_other_kinds_of_interactions_are_ignored(kind: int) -> None:
    assert_ignored(interaction(type=kind))


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b'"x"', b"{}", b"\xff\xfe", b'{"t":"MESSAGE_CREATE","d":null}', b'{"type":2}']
)
@pytest.mark.parametrize("headers", [RELAY, DISCORD])
def test_malformed_webhooks_are_ignored(raw: bytes, headers: dict[str, str]) -> None:
    assert_ignored(platform().parse(WebhookRequest(raw, headers)))


def test_interactions_and_relayed_events_have_their_own_secrets() -> None:
    raw = b'{"type":1}'
    adapter = platform({"discord/public_key": KEY.verify_key.encode().hex(), "discord/relay_secret": "relay"})
    timestamp = str(NOW // 1000)
    signature = KEY.sign(timestamp.encode() + raw).signature.hex()
    own = {DISCORD_SIGNATURE: signature, DISCORD_TIMESTAMP: timestamp}
    assert adapter.verify(WebhookRequest(raw, own), now=NOW)
    assert adapter.verify(WebhookRequest(raw, relay_headers("relay", raw, now=NOW)), now=NOW)
    assert not adapter.verify(WebhookRequest(raw + b" ", own), now=NOW)
    assert not adapter.verify(WebhookRequest(raw, {}), now=NOW)
    assert not platform().verify(WebhookRequest(raw, own), now=NOW)
    assert not platform().verify(WebhookRequest(raw, relay_headers("relay", raw, now=NOW)), now=NOW)


def test_the_relays_signature_does_not_verify_an_interaction() -> None:
    adapter = platform({"discord/public_key": KEY.verify_key.encode().hex(), "discord/relay_secret": "relay"})
    raw = json.dumps(COMMAND).encode()
    headers = relay_headers("relay", raw, now=NOW)
    assert_ignored(adapter.parse(WebhookRequest(raw, headers)))
    assert not adapter.verify(WebhookRequest(raw, {**headers, **DISCORD}), now=NOW)


def test_a_webhook_is_parsed_without_the_sdk() -> None:
    program = """
import sys
from shared.platforms.discord.adapter import Discord
from shared.ports.inbound import WebhookRequest
from shared.settings import Settings
class Nothing:
    def get(self, name): return None
adapter = Discord(Settings("handoffs", "sessions", "turns"), Nothing())
adapter.verify(WebhookRequest(b"{}"), now=0), adapter.parse(WebhookRequest(b"{}")), adapter.render("**hello**")
print(sorted({"discord", "aiohttp", "nacl"} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


PRESS = {
    **{name: value for name, value in COMMAND.items() if name != "data"},
    "type": 3,
    "data": {"custom_id": "allow:1", "component_type": 2, "id": 2},
    "message": {"id": "1334385199974967042", "author": BOT, "content": "May I?"},
}


def press(headers: Mapping[str, str] = DISCORD, **changed: Any) -> Parsed:
    event: dict[str, Any] = {**PRESS, **changed}
    body = event if headers else {"t": "INTERACTION_CREATE", "d": event}
    return platform().parse(WebhookRequest(json.dumps(body).encode(), headers))


@pytest.mark.parametrize("headers", [DISCORD, RELAY], ids=["endpoint", "relay"])
def test_a_press_names_button_message_and_person(headers: Mapping[str, str]) -> None:
    parsed = press(headers)

    assert press_in(parsed) == Pressed(
        event_id="01334385200000000001",
        place=Place("discord", "1334384000000000000"),
        sender="7001000000000000001",
        button="allow:1",
        message="1334385199974967042",
        handle="9001000000000000001/1334385200000000001/interaction-token",
    )
    assert parsed.answer == Answer({"type": 6})


@pytest.mark.parametrize(
    ("where", "private"),
    [
        ({"guild_id": None, "member": None, "user": AUTHOR, "context": 1}, True),
        ({"guild_id": None, "member": None, "user": AUTHOR, "context": 2}, False),
        ({"context": 1}, False),
    ],
)
def test_a_press_is_private_only_in_direct_messages_with_the_bot(where: dict[str, Any], *, private: bool) -> None:
    assert press_in(press(**where)).private is private


@pytest.mark.parametrize(
    "changed",
    [
        {"data": None},
        {"data": {"custom_id": "a", "component_type": 3, "values": ["x"]}},
        {"data": {"custom_id": "x" * 65, "component_type": 2}},
        {"data": {"custom_id": "", "component_type": 2}},
        {"data": {"custom_id": 7, "component_type": 2}},
        {"message": None},
        {"message": {"id": "x"}},
        {"message": {"id": 7}},
        {"member": {"user": {"id": "olivia"}}},
        {"channel_id": "home"},
        {"id": "1/2"},
        {"application_id": "../x"},
        {"token": "a/../b"},
        {"token": ""},
        {"token": None},
    ],
)
def test_an_odd_press_is_ignored(changed: dict[str, Any]) -> None:
    for headers in (DISCORD, RELAY):
        parsed = press(headers, **changed)
        assert parsed.events == ()
        assert parsed.ignored


def test_a_file_is_known_by_its_message_and_its_id_and_never_by_its_address() -> None:
    said = message_in(relayed(content="", attachments=[attached("image/png")]))

    reference = f"{MESSAGE['id']}/1334385199000000001"
    assert said.files == (ChatFile("picture", reference, "plan", "image/png", 512),)
