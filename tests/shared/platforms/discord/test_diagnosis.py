"""The diagnosis of a Discord application, from scripted answers."""

from typing import Any

import pytest

from shared.domain.routes import Place
from shared.platforms.discord.adapter import Discord
from shared.platforms.discord.permissions import (
    ADMINISTRATOR,
    ATTACH_FILES,
    CREATE_PUBLIC_THREADS,
    READ_MESSAGE_HISTORY,
    SEND_MESSAGES,
    SEND_MESSAGES_IN_THREADS,
    VIEW_CHANNEL,
    of_member,
)
from shared.ports.platforms import Finding
from shared.settings import Settings
from tests.shared.platforms.discord.scripted import Reply, ScriptedDiscord
from tests.support.secrets import FakeSecrets

OURS = "https://handoff.example/webhooks/discord"
ME, GUILD, ROLE, CHANNEL = "42", "1", "2", "9"
KEY = "ab" * 32
APPLICATION = {
    "id": "42",
    "name": "Handoff",
    "bot": {"id": ME, "username": "handoff"},
    "flags": 1 << 19,
    "verify_key": KEY,
    "interactions_endpoint_url": OURS,
}
NEEDED = (
    VIEW_CHANNEL
    | SEND_MESSAGES
    | ATTACH_FILES
    | READ_MESSAGE_HISTORY
    | CREATE_PUBLIC_THREADS
    | SEND_MESSAGES_IN_THREADS
)
MEMBER = {"user": {"id": ME}, "roles": [ROLE]}


def guild(everyone: int = 0, role: int = 0, owner: str = "7") -> dict[str, Any]:
    roles = [{"id": GUILD, "permissions": str(everyone)}, {"id": ROLE, "permissions": str(role)}]
    return {"id": GUILD, "owner_id": owner, "roles": [*roles, {"id": "3", "permissions": str(ADMINISTRATOR)}]}


def channel(kind: int = 0, *overwrites: tuple[str, int, int]) -> dict[str, Any]:
    listed = [{"id": whom, "allow": str(allow), "deny": str(deny)} for whom, allow, deny in overwrites]
    return {"id": CHANNEL, "type": kind, "guild_id": GUILD, "name": "agents", "permission_overwrites": listed}


def look(
    application: dict[str, Any] | None = None,
    *,
    at: dict[str, Any] | None = None,
    within: dict[str, Any] | None = None,
    secrets: dict[str, str] | None = None,
) -> dict[str, Finding]:
    given = {"discord/public_key": KEY, "discord/relay_secret": "s"} if secrets is None else secrets
    with ScriptedDiscord() as server:
        server.on("GET /applications/@me", Reply(body={**APPLICATION, **(application or {})}))
        server.on(f"GET /channels/{CHANNEL}", Reply(body=at or channel()))
        server.on(f"GET /guilds/{GUILD}", Reply(body=within or guild(role=NEEDED)))
        server.on(f"GET /guilds/{GUILD}/members/{ME}", Reply(body=MEMBER))
        settings = Settings(
            "h", "s", "q", platform_urls={"discord": {"api": server.url}}, public_url="https://handoff.example"
        )
        discord = Discord(settings, FakeSecrets({"discord/bot_token": "t", **given}))
        found = discord.diagnose(Place("discord", CHANNEL), webhook_url=OURS, now=0, seconds=10)
        discord.close()
    assert [call for call in server.calls if not call.startswith("GET ")] == []
    return {finding.name: finding for finding in found}


def test_a_complete_configuration_has_no_problems() -> None:
    assert {name: finding.ok for name, finding in look().items()} == dict.fromkeys(
        ("bot", "secrets", "webhook", "messages", "home", "thread", "files"), True
    )


BOTH = {"discord/public_key": KEY, "discord/relay_secret": "s"}
RELAY, COMMANDS = {"discord/relay_secret": "s"}, {"discord/public_key": KEY}


@pytest.mark.parametrize(
    ("endpoint", "secrets", "ok", "says"),
    [
        (OURS, COMMANDS, True, OURS),
        ("https://other.example/hook", BOTH, False, "other.example"),
        (None, BOTH, True, "through the relay"),
        (None, RELAY, True, "through the relay"),
        (None, COMMANDS, False, "no message arrives"),
        (None, {}, False, "no message arrives"),
        (OURS, RELAY, False, "discord/public_key is not set"),
        (OURS, {**BOTH, "discord/public_key": "cd" * 32}, False, "another application"),
        (OURS, {**BOTH, "discord/public_key": KEY.upper()}, True, OURS),
    ],
)
def test_slash_commands_need_an_endpoint_or_the_relay(
    endpoint: str | None, secrets: dict[str, str], ok: bool, says: str
) -> None:
    webhook = look({"interactions_endpoint_url": endpoint}, secrets=secrets)["webhook"]

    assert webhook.ok is ok
    assert says in webhook.detail


@pytest.mark.parametrize(
    ("flags", "secrets", "ok"),
    [
        (1 << 18, BOTH, True),
        (1 << 19, RELAY, True),
        (0, BOTH, False),
        (1 << 14, RELAY, False),
        (1 << 19, COMMANDS, None),
    ],
)
def test_ordinary_messages_need_the_relay_and_its_intent(flags: int, secrets: dict[str, str], ok: bool | None) -> None:
    assert look({"flags": flags}, secrets=secrets)["messages"].ok is ok


def test_missing_webhook_secrets_are_named() -> None:
    found = look(secrets={})["secrets"]

    assert found.ok is False
    assert "discord/public_key or discord/relay_secret" in found.detail


@pytest.mark.parametrize(
    ("kind", "held", "lacking"),
    [
        (0, NEEDED, None),
        (5, NEEDED & ~CREATE_PUBLIC_THREADS, "Create Public Threads"),
        (0, NEEDED & ~SEND_MESSAGES & ~SEND_MESSAGES_IN_THREADS, "Send Messages, Send Messages in Threads"),
        (15, NEEDED & ~CREATE_PUBLIC_THREADS, None),
        (15, NEEDED & ~SEND_MESSAGES, "Create Posts"),
        (1, NEEDED, "cannot hold threads"),
        (11, NEEDED, "A thread cannot hold threads"),
    ],
)
def test_the_needed_permissions_depend_on_the_kind_of_channel(kind: int, held: int, lacking: str | None) -> None:
    found = look(at=channel(kind), within=guild(role=held))

    assert (found["home"].ok, found["thread"].ok) == (True, lacking is None)
    assert (lacking or "may open threads") in found["thread"].detail


def test_a_bot_that_was_invited_before_files_is_told_what_it_lacks() -> None:
    found = look(within=guild(role=NEEDED & ~ATTACH_FILES))

    assert (found["thread"].ok, found["files"].ok) == (True, False)
    assert "Attach Files" in found["files"].detail
    assert "invite the bot again" in str(found["files"].fix)


@pytest.mark.parametrize(
    ("within", "overwrites", "expected"),
    [
        (guild(everyone=VIEW_CHANNEL, role=SEND_MESSAGES), [], VIEW_CHANNEL | SEND_MESSAGES),
        (guild(role=ADMINISTRATOR), [(GUILD, 0, NEEDED)], NEEDED),
        (guild(owner=ME), [(GUILD, 0, NEEDED)], NEEDED),
        (guild(everyone=NEEDED), [(GUILD, 0, SEND_MESSAGES)], NEEDED & ~SEND_MESSAGES),
        (guild(everyone=NEEDED), [(GUILD, 0, SEND_MESSAGES), (ROLE, SEND_MESSAGES, 0)], NEEDED),
        (guild(everyone=NEEDED), [(ROLE, SEND_MESSAGES, 0), (ME, 0, SEND_MESSAGES)], NEEDED & ~SEND_MESSAGES),
        (guild(everyone=NEEDED), [("3", 0, NEEDED), ("7", 0, NEEDED)], NEEDED),
    ],
    ids=["roles add up", "administrator", "owner", "everyone", "role over everyone", "member over role", "others"],
)
def test_permissions_follow_roles_then_overwrites(
    within: dict[str, Any], overwrites: list[tuple[str, int, int]], expected: int
) -> None:
    assert of_member(within, MEMBER, channel(0, *overwrites)) & NEEDED == expected & NEEDED
