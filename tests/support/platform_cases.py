"""The platforms of a local run in tests of the whole service; each `case.py` lies with the platform's own tests."""

import importlib
from functools import cache

from local.chats import CHATS
from shared.platforms.registry import PlatformRegistry
from shared.ports.platforms import Platform
from shared.settings import Settings
from tests.support.platform_case import PlatformCase
from tests.support.secrets import FakeSecrets

CASES: dict[str, PlatformCase] = {
    chat.name: importlib.import_module(f"tests.shared.platforms.{chat.name}.case").CASE for chat in CHATS
}
PLATFORMS = list(CASES)
DEFAULT_PLATFORM = PLATFORMS[0]
HOMES = {chat.name: chat.homes["owner"] for chat in CHATS}
THREADED = [chat.name for chat in CHATS if chat.spec.threads]
"""The platforms with threads. On the others a handoff arrives in the chat itself, which holds one session at a time."""
RELAYED = [chat.name for chat in CHATS if chat.relay]
"""The platforms with a relay: those whose real bots need no public address."""
SHARED_CHATS = {
    chat.name: seeded.id
    for chat in CHATS
    for seeded in reversed(chat.chats)
    if {"owner", "stranger"} <= set(seeded.people) and seeded.id in CASES[chat.name].threaded_chats.values()
}
"""A chat for handoffs that both the owner and the stranger are in, on each platform that has chats of several people."""
SHARED = list(SHARED_CHATS)


def chat_of(platform: str, person: str, chat_id: str) -> str:
    """The chat in which a person (a key of the simulator) can write: this one, or else the one with the bot alone."""
    (chat,) = [chat for chat in CHATS if chat.name == platform]
    is_there = [person in seeded.people for seeded in chat.chats if seeded.id == chat_id]
    return chat_id if all(is_there) else next(seeded.id for seeded in chat.chats if seeded.people == (person,))


def may_repeat(platform: str) -> bool:
    """Whether a send that arrived may be repeated (and marked): the platform has no way to learn whether it did."""
    can = adapter(platform).capabilities
    return not (can.key or can.readback or can.receipts)


def marks_repeats(platform: str) -> bool:
    """Whether a repeated send is marked: a first copy may come late, although the platform knows of none yet."""
    can = adapter(platform).capabilities
    return not (can.key or can.readback)


@cache
def adapter(platform: str) -> Platform:
    """The adapter without a connection."""
    secrets = {secret: "1:any" for chat in CHATS for secret in chat.spec.secrets}
    return PlatformRegistry(Settings("handoffs", "sessions", "queue"), FakeSecrets(secrets)).get(platform)


EDITING = [platform for platform in PLATFORMS if adapter(platform).capabilities.edits]
"""The platforms on which messages can be edited."""
BUTTONED = [platform for platform in PLATFORMS if adapter(platform).capabilities.buttons]
"""The platforms whose messages have buttons."""
