"""The adapters of the listed platforms, imported only when used."""

import importlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from shared.errors import PlatformNotConfigured, PlatformNotSupported, UnknownPlatform
from shared.platforms import PLATFORMS
from shared.platforms.spec import DEFAULT_BODY_LIMIT, PlatformSpec
from shared.ports.platforms import Platform
from shared.ports.secrets import Secrets
from shared.settings import Settings

WEBHOOKS = "/webhooks/"


class PlatformRegistry:
    """The platforms of this deployment; each adapter is made once, as `Class(settings, secrets)`. Thread-safe."""

    def __init__(self, settings: Settings, secrets: Secrets, platforms: Iterable[PlatformSpec] = PLATFORMS) -> None:
        self._settings, self._secrets = settings, secrets
        self._specs = {spec.name: spec for spec in platforms}
        self._adapters: dict[str, Platform] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Platform:
        spec = self._spec(name)
        if spec.adapter is None:
            supported = [known for known, is_supported in self.known().items() if is_supported]
            raise PlatformNotSupported(name, supported, spec.here_only)
        if not self.is_configured(name):
            raise PlatformNotConfigured(name)
        with self._lock:
            if name not in self._adapters:
                module, _, adapter = spec.adapter.partition(":")
                made = getattr(importlib.import_module(module), adapter)(self._settings, self._secrets)
                self._adapters[name] = cast("Platform", made)
            return self._adapters[name]

    def known(self) -> Mapping[str, bool]:
        return {name: spec.is_supported for name, spec in self._specs.items()}

    def is_configured(self, name: str) -> bool:
        spec = self._spec(name)
        return spec.is_supported and all(self._secrets.get(secret) for secret in spec.secrets)

    def lacks(self, name: str) -> Sequence[str]:
        wanted = self._spec(name).secrets
        unset = [secret for secret in wanted if not self._secrets.get(secret)]
        return unset if len(unset) < len(wanted) else []

    def has_threads(self, name: str) -> bool:
        return self._spec(name).threads

    def is_chat_id(self, name: str, chat: str) -> bool:
        return self._spec(name).is_chat_id(chat)

    def window(self, name: str) -> int | None:
        return self._spec(name).window

    def body_limit(self, name: str) -> int:
        return self._specs[name].body_limit if name in self._specs else DEFAULT_BODY_LIMIT

    def drops_oversized(self, name: str) -> bool:
        return name in self._specs and self._specs[name].drops_oversized

    def webhook_of(self, path: str) -> str | None:
        if path.startswith(WEBHOOKS):
            return path.removeprefix(WEBHOOKS).partition("/")[0]
        return next((spec.name for spec in self._specs.values() if path in spec.webhook_paths), None)

    def _spec(self, name: str) -> PlatformSpec:
        if name not in self._specs:
            raise UnknownPlatform(name, self._specs)
        return self._specs[name]


def load_adapters(platforms: Iterable[PlatformSpec] = PLATFORMS) -> None:
    """Import every adapter and its lazy dependencies (for pre-initialised containers). Makes no calls."""
    for spec in platforms:
        if spec.adapter is not None:
            for module in (spec.adapter.partition(":")[0], *spec.lazy_imports):
                importlib.import_module(module)
