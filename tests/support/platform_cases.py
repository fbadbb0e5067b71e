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
SHARED_CHATS = {
    chat.name: next(
        seeded.id
        for seeded in chat.chats
        if "stranger" in seeded.people and seeded.id in CASES[chat.name].threaded_chats.values()
    )
    for chat in CHATS
}
"""A chat with threads on each platform that both the owner and the stranger are in."""


def may_repeat(platform: str) -> bool:
    """Whether a send that may have arrived is repeated (and marked): the platform offers no way to make it idempotent."""
    capabilities = adapter(platform).capabilities
    return not (capabilities.key or capabilities.readback)


@cache
def adapter(platform: str) -> Platform:
    """The adapter without a connection."""
    secrets = {secret: "1:any" for chat in CHATS for secret in chat.spec.secrets}
    return PlatformRegistry(Settings("handoffs", "sessions", "queue"), FakeSecrets(secrets)).get(platform)
