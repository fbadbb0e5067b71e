"""Description of a platform that needs no SDK, and the addresses it is reached at."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote, urlsplit

from shared.domain.routes import Place

DEFAULT_BODY_LIMIT = 1024 * 1024


@dataclass(frozen=True)
class PlatformUrls:
    """Where a platform's API is called, and what its links for people begin with."""

    api: str
    link: str


@dataclass(frozen=True)
class PlatformSpec:
    """One platform. Without an `adapter` (`module:Class`, made as `Class(settings, secrets)`) it is not supported yet.

    `set_up` (`module:Class`) is a `SetUp` for `handoff setup`; without it only its secrets are asked for.
    The platform is configured when all `secrets` are set; `optional_secrets` enable parts of it. `lazy_imports` are the
    modules that the adapter imports on its first call to the platform. `body_limit` is the largest webhook, in bytes; a
    larger one is refused, or with `drops_oversized` taken and dropped, where a refusal would hold back all later ones.
    `webhook_paths` are paths beside `/webhooks/{name}` to which the platform posts because its protocol fixes them.
    `here_only`: a sentence that says why only a service on one machine can use it; empty if a deployment can, too.
    `window`: the seconds after a person's last message in which a bot may write to that person; their chat has their id.
    `chat_id` and `person_id` are regular expressions for the one form of an id: a platform may understand others too.
    """

    name: str
    title: str
    threads: bool
    adapter: str | None = None
    set_up: str | None = None
    secrets: tuple[str, ...] = ()
    optional_secrets: tuple[str, ...] = ()
    api_url: str = ""
    link_url: str = ""
    lazy_imports: tuple[str, ...] = ()
    body_limit: int = DEFAULT_BODY_LIMIT
    drops_oversized: bool = False
    webhook_paths: tuple[str, ...] = ()
    here_only: str = ""
    window: int | None = None
    chat_id: str = r"[!-~]{1,200}"
    person_id: str = r"[!-~]{1,200}"

    @property
    def is_supported(self) -> bool:
        return self.adapter is not None

    def on_aws(self, overrides: Mapping[str, Mapping[str, str]]) -> "PlatformSpec":
        """The platform in a deployment: not supported if it is for one machine only, unless its API is elsewhere."""
        return replace(self, adapter=None) if self.here_only and not overrides.get(self.name, {}).get("api") else self

    def is_chat_id(self, text: str) -> bool:
        return re.fullmatch(self.chat_id, text) is not None

    def is_person_id(self, text: str) -> bool:
        return re.fullmatch(self.person_id, text) is not None

    def urls(self, overrides: Mapping[str, Mapping[str, str]]) -> PlatformUrls:
        """The platform's addresses; `overrides` (the setting PLATFORM_URLS) may hold `api` and `link` under its name."""
        given = overrides.get(self.name, {})
        return PlatformUrls(api=given.get("api") or self.api_url, link=given.get("link") or self.link_url)


def is_loopback(url: str) -> bool:
    """Whether this address is local to one machine: no platform can post to it, and no proxy leads to it.

    A proxy from the environment is for public addresses, not for a simulator on this machine.
    """
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def link_below(base: str, place: Place) -> str:
    """`<base>/<chat>/<thread>`, on a page such as that of the local simulator."""
    parts = [place.chat, place.thread] if place.thread else [place.chat]
    return "/".join([base.rstrip("/"), *(quote(part, safe="") for part in parts)])
