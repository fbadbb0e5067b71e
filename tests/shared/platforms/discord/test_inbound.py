"""What Discord and our relay say, on the shapes that Discord really sends."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from nacl.signing import SigningKey

from shared.domain.routes import Place
from shared.platforms.discord.adapter import Discord
from shared.platforms.discord.signatures import DISCORD_SIGNATURE, DISCORD_TIMESTAMP, relay_headers
from shared.ports.inbound import Answer, Ignored, Inbound
from shared.settings import Settings
from tests.support.secrets import FakeSecrets

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
MESSAGE = {
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


def relayed(kind: str = "MESSAGE_CREATE", **changed: Any) -> Inbound | Answer | Ignored:
    return platform().parse(RELAY, json.dumps({"t": kind, "d": {**MESSAGE, **changed}}).encode())


def interaction(**changed: Any) -> Inbound | Answer | Ignored:
    return platform().parse(DISCORD, json.dumps({**COMMAND, **changed}).encode())


def command(name: str, *values: Any) -> Inbound | Answer | Ignored:
    options = [{"name": "argument", "type": 3, "value": value} for value in values]
    return interaction(data={"id": "1", "name": name, "type": 1, "options": options})


def test_a_message_in_a_thread_is_heard_at_the_place_where_the_thread_was_opened() -> None:
    heard = relayed()
    assert heard == Inbound(
        event_id="01334385199974967042",
        place=Place("discord", "1334384000000000000"),
        sender="7001000000000000001",
        text="and the tests?",
    )


def test_a_reply_to_a_message_is_heard_like_any_other() -> None:
    assert isinstance(relayed(type=19, referenced_message=MESSAGE), Inbound)


def test_event_ids_sort_in_the_order_of_speaking() -> None:
    ids = ["999", "1000", "1334385199974967042", "10000000000000000000"]
    heard = [relayed(id=snowflake) for snowflake in ids]
    events = [event.event_id for event in heard if isinstance(event, Inbound)]
    assert events == sorted(events)
    assert len(set(events)) == 4


@pytest.mark.parametrize("mention", ["<@9001000000000000001> ", " <@!9001000000000000001>, "])
def test_the_bots_own_name_at_the_start_is_no_part_of_the_text(mention: str) -> None:
    heard = relayed(content=f"{mention}what about <@9001000000000000001>?", mentions=[BOT])
    assert isinstance(heard, Inbound)
    assert heard.text == "what about <@9001000000000000001>?"


def test_a_person_who_is_named_at_the_start_stays_in_the_text() -> None:
    heard = relayed(content="<@7001000000000000001> said so", mentions=[AUTHOR])
    assert isinstance(heard, Inbound)
    assert heard.text == "<@7001000000000000001> said so"


@pytest.mark.parametrize(
    "changed",
    [
        {"author": BOT},
        {"author": {**AUTHOR, "system": True}},
        {"webhook_id": "5"},
        {"content": ""},
        {"content": " \n"},
        {"content": "<@9001000000000000001>", "mentions": [BOT]},
        *({"type": kind} for kind in (3, 6, 7, 8, 18, 20, 21, 24, 46)),
    ],
)
def test_what_no_person_said_is_ignored(changed: dict[str, Any]) -> None:
    assert isinstance(relayed(**changed), Ignored)


@pytest.mark.parametrize("kind", ["MESSAGE_UPDATE", "MESSAGE_DELETE", "TYPING_START"])
def test_other_events_of_the_gateway_are_ignored(kind: str) -> None:
    assert isinstance(relayed(kind), Ignored)


def test_a_command_that_the_relay_brings_is_heard_as_from_discord_itself() -> None:
    raw = json.dumps({"t": "INTERACTION_CREATE", "d": COMMAND}).encode()
    assert platform().parse(RELAY, raw) == interaction()


def test_a_ping_is_answered_with_a_pong() -> None:
    assert platform().parse(DISCORD, b'{"type":1,"id":"1","application_id":"2"}') == Answer({"type": 1})


def test_say_is_heard_and_shown_to_all_in_the_thread() -> None:
    heard = interaction()
    assert isinstance(heard, Inbound)
    assert (heard.event_id, heard.place, heard.sender, heard.text) == (
        "01334385200000000001",
        Place("discord", "1334384000000000000"),
        "7001000000000000001",
        "and the tests?",
    )
    assert heard.answer == Answer(
        {"type": 4, "data": {"content": "> and the tests?", "flags": 0, "allowed_mentions": {"parse": []}}}
    )


def test_a_long_text_is_heard_whole_and_shown_within_the_limit() -> None:
    for text in ("x" * 6000, "a\n" * 3000):
        heard = command("say", text)
        assert isinstance(heard, Inbound)
        assert heard.text == text.strip()
        assert heard.answer is not None
        assert isinstance(heard.answer.body, dict)
        assert len(heard.answer.body["data"]["content"]) <= 2000


@pytest.mark.parametrize("name", ["resume", "new", "sethome", "status", "stop", "help", "handoff"])
def test_a_slash_command_is_heard_as_it_would_be_typed(name: str) -> None:
    bare, with_argument = command(name), command(name, " fix the build ")
    assert isinstance(bare, Inbound)
    assert isinstance(with_argument, Inbound)
    assert (bare.text, with_argument.text) == (f"/{name}", f"/{name} fix the build")
    assert bare.answer is not None
    assert isinstance(bare.answer.body, dict)
    assert bare.answer.body["data"]["flags"] == 64


def test_a_command_in_a_direct_message_has_its_user_in_another_place() -> None:
    heard = interaction(member=None, user=AUTHOR, guild_id=None)
    assert isinstance(heard, Inbound)
    assert heard.sender == "7001000000000000001"


@pytest.mark.parametrize(("name", "values"), [("dance", ()), ("say", ()), ("say", ("  ",))])
def test_an_unknown_or_empty_command_is_answered_and_goes_no_further(name: str, values: tuple[str, ...]) -> None:
    answered = command(name, *values)
    assert isinstance(answered, Answer)
    assert isinstance(answered.body, dict)
    assert answered.body["data"]["flags"] == 64


@pytest.mark.parametrize("kind", [3, 4, 5])
def test_interactions_that_we_never_offer_are_ignored(kind: int) -> None:
    assert isinstance(interaction(type=kind), Ignored)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b'"x"', b"{}", b"\xff\xfe", b'{"t":"MESSAGE_CREATE","d":null}', b'{"type":2}']
)
@pytest.mark.parametrize("headers", [RELAY, DISCORD])
def test_what_is_not_discords_shape_is_ignored_and_never_raises(raw: bytes, headers: dict[str, str]) -> None:
    assert isinstance(platform().parse(headers, raw), Ignored)


def test_both_ways_in_are_verified_each_with_its_own_secret() -> None:
    raw = b'{"type":1}'
    adapter = platform({"discord/public_key": KEY.verify_key.encode().hex(), "discord/relay_secret": "relay"})
    timestamp = str(NOW // 1000)
    signature = KEY.sign(timestamp.encode() + raw).signature.hex()
    own = {DISCORD_SIGNATURE: signature, DISCORD_TIMESTAMP: timestamp}
    assert adapter.verify(own, raw, now=NOW)
    assert adapter.verify(relay_headers("relay", raw, now=NOW), raw, now=NOW)
    assert not adapter.verify(own, raw + b" ", now=NOW)
    assert not adapter.verify({}, raw, now=NOW)
    assert not platform().verify(own, raw, now=NOW)
    assert not platform().verify(relay_headers("relay", raw, now=NOW), raw, now=NOW)


def test_the_relays_signature_does_not_vouch_for_an_interaction() -> None:
    adapter = platform({"discord/public_key": KEY.verify_key.encode().hex(), "discord/relay_secret": "relay"})
    raw = json.dumps(COMMAND).encode()
    headers = relay_headers("relay", raw, now=NOW)
    assert isinstance(adapter.parse(headers, raw), Ignored)
    assert not adapter.verify({**headers, **DISCORD}, raw, now=NOW)


def test_a_webhook_is_read_without_the_sdk() -> None:
    program = """
import sys
from shared.platforms.discord.adapter import Discord
from shared.settings import Settings
class Nothing:
    def get(self, name): return None
adapter = Discord(Settings("handoffs", "sessions", "turns"), Nothing())
adapter.verify({}, b"{}", now=0), adapter.parse({}, b"{}"), adapter.render("**hello**")
print(sorted({"discord", "aiohttp", "nacl"} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
