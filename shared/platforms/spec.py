"""What is known of a platform without loading its SDK."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

DEFAULT_BODY_LIMIT = 1024 * 1024


@dataclass(frozen=True)
class PlatformUrls:
    """Where a platform's API is called, and what its links for people begin with."""

    api: str
    link: str


@dataclass(frozen=True)
class PlatformSpec:
    """One platform. Without an `adapter` (`module:Class`, made as `Class(settings, secrets)`) it is not supported yet.

    The platform is configured when all `secrets` are set; `optional_secrets` enable parts of it. `lazy_imports` are the
    modules that the adapter imports on its first call to the platform. `body_limit` is the largest webhook, in bytes.
    `chat_id` and `person_id` are regular expressions for the one form of an id: a platform may understand others too.
    """

    name: str
    title: str
    threads: bool
    adapter: str | None = None
    secrets: tuple[str, ...] = ()
    optional_secrets: tuple[str, ...] = ()
    api_url: str = ""
    link_url: str = ""
    lazy_imports: tuple[str, ...] = ()
    body_limit: int = DEFAULT_BODY_LIMIT
    chat_id: str = r"[!-~]{1,200}"
    person_id: str = r"[!-~]{1,200}"

    @property
    def is_supported(self) -> bool:
        return self.adapter is not None

    def is_chat_id(self, text: str) -> bool:
        return re.fullmatch(self.chat_id, text) is not None

    def is_person_id(self, text: str) -> bool:
        return re.fullmatch(self.person_id, text) is not None

    def urls(self, overrides: Mapping[str, Mapping[str, str]]) -> PlatformUrls:
        """The platform's addresses; `overrides` (the setting PLATFORM_URLS) may hold `api` and `link` under its name."""
        given = overrides.get(self.name, {})
        return PlatformUrls(api=given.get("api") or self.api_url, link=given.get("link") or self.link_url)
