"""The table of platforms, and their adapters, loaded only when used."""

import importlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from shared.errors import PlatformNotConfigured, PlatformNotSupported, UnknownPlatform
from shared.ports.platforms import Platform
from shared.ports.secrets import Secrets
from shared.settings import Settings


@dataclass(frozen=True)
class Entry:
    """One platform: whether it knows threads, its adapter (`module:Class`, none: not built yet), its secrets, and the
    modules that the adapter loads only when it first calls the platform.
    """

    threads: bool
    adapter: str | None = None
    secrets: tuple[str, ...] = ()
    put_off: tuple[str, ...] = ()


# Adding a platform: one module beside this one, and one entry here.
PLATFORMS: Mapping[str, Entry] = {
    "telegram": Entry(
        threads=True,
        adapter="shared.platforms.telegram.adapter:Telegram",
        secrets=("telegram/bot_token", "telegram/webhook_secret"),
        put_off=("shared.platforms.telegram.api", "shared.platforms.telegram.render", "httpcore", "anyio"),
    ),
    "slack": Entry(
        threads=True,
        adapter="shared.platforms.slack.adapter:Slack",
        secrets=("slack/bot_token", "slack/signing_secret"),
        put_off=("shared.platforms.slack.api",),
    ),
    "discord": Entry(
        threads=True,
        adapter="shared.platforms.discord.adapter:Discord",
        secrets=("discord/bot_token",),  # of its two ways in, interactions and relay, each has a secret; one is enough
        put_off=("shared.platforms.discord.rest",),
    ),
    "matrix": Entry(threads=True),
    "whatsapp": Entry(threads=False),
    "signal": Entry(threads=False),
}


class PlatformRegistry:
    """The platforms of this deployment; each adapter is made once, as `Class(settings, secrets)`. Thread-safe."""

    def __init__(self, settings: Settings, secrets: Secrets, platforms: Mapping[str, Entry] = PLATFORMS) -> None:
        self._settings, self._secrets, self._platforms = settings, secrets, platforms
        self._made: dict[str, Platform] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Platform:
        entry = self._entry(name)
        if entry.adapter is None:
            raise PlatformNotSupported(name, [known for known, supported in self.known().items() if supported])
        if not self.is_configured(name):
            raise PlatformNotConfigured(name)
        with self._lock:
            if name not in self._made:
                module, _, adapter = entry.adapter.partition(":")
                made = getattr(importlib.import_module(module), adapter)(self._settings, self._secrets)
                self._made[name] = cast("Platform", made)
            return self._made[name]

    def known(self) -> Mapping[str, bool]:
        return {name: entry.adapter is not None for name, entry in self._platforms.items()}

    def is_configured(self, name: str) -> bool:
        entry = self._entry(name)
        return entry.adapter is not None and all(self._secrets.get(secret) for secret in entry.secrets)

    def lacks(self, name: str) -> Sequence[str]:
        wanted = self._entry(name).secrets
        unset = [secret for secret in wanted if not self._secrets.get(secret)]
        return unset if len(unset) < len(wanted) else []

    def has_threads(self, name: str) -> bool:
        return self._entry(name).threads

    def _entry(self, name: str) -> Entry:
        if name not in self._platforms:
            raise UnknownPlatform(name, self._platforms)
        return self._platforms[name]


def load_adapters() -> None:
    """Import every adapter with all that it puts off, for whoever has the time now and not later. Calls nobody."""
    for entry in PLATFORMS.values():
        if entry.adapter is not None:
            for module in (entry.adapter.partition(":")[0], *entry.put_off):
                importlib.import_module(module)
