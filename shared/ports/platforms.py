"""Chat platforms: what each can do, and what it must."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from shared.domain.routes import Place
from shared.ports.inbound import Answer, Ignored, Inbound


@dataclass(frozen=True)
class Capabilities:
    """What a platform can do, so that use cases need not know which one it is.

    `limit` is the longest part, as the platform itself counts. `idempotency` says how a send that may have arrived is
    made safe: send again with the same `key`, `readback` with `find_message`, or `none` (the repeat is marked as one).
    """

    threads: bool
    limit: int
    idempotency: Literal["key", "readback", "none"]


@dataclass(frozen=True)
class Part:
    """One rendered piece of a reply, within the platform's limit; plain data, so that the journal can hold it."""

    text: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """What one look at the service found: `ok` is None where that could not be found out, `fix` says what to do."""

    name: str
    ok: bool | None
    detail: str
    fix: str | None = None
    platform: str | None = None


class Platform(Protocol):
    """A chat platform. Calls raise only the `PlatformError`s of shared/errors.py; `typing` and `diagnose` raise nothing."""

    name: str
    capabilities: Capabilities

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:
        """Open a fresh thread in `home`, with `people` (the platform's ids) in it. Raises ThreadRefused where it cannot."""

    def find_thread(self, home: Place, *, key: str) -> Place | None:
        """The thread that an interrupted `open_thread` with this key made, where the platform lets one find out."""

    def send(self, place: Place, part: Part, *, key: str) -> str:
        """Post one part and return the platform's id of the message."""

    def find_message(self, place: Place, *, key: str) -> str | None:
        """The message that an ambiguous `send` with this key posted; None where there is none or no way to know."""

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Replace the text of a message of ours; an equal text is a success."""

    def typing(self, place: Place) -> None:
        """Show that the agent is at work. Best effort."""

    def render(self, markdown: str) -> list[Part]:
        """An agent's Markdown as parts: pure, deterministic, none over the limit, no code fence left open."""

    def link(self, place: Place) -> str:
        """The URL that opens this place for a person."""

    def verify(self, headers: Mapping[str, str], raw: bytes, *, now: int) -> bool:
        """Whether a webhook's raw bytes come from the platform (header names in lower case). No secret set: never."""

    def parse(self, headers: Mapping[str, str], raw: bytes) -> Inbound | Answer | Ignored:
        """What a verified webhook says."""

    def diagnose(self, home: Place | None, *, webhook_url: str, now: int, seconds: float) -> Sequence[Finding]:
        """What is wrong with the bot, its webhook or its rights at `home`: looks for about `seconds`, changes nothing."""


class Platforms(Protocol):
    """The platforms of this deployment by name, made only when used."""

    def get(self, name: str) -> Platform:
        """The adapter. Raises UnknownPlatform, PlatformNotSupported or PlatformNotConfigured."""

    def known(self) -> Mapping[str, bool]:
        """Every listed platform, and whether it is supported."""

    def is_configured(self, name: str) -> bool:
        """Whether its secrets are set. Loads no SDK."""

    def lacks(self, name: str) -> Sequence[str]:
        """What keeps a platform from working of which some secrets are set: those that are not. Loads no SDK."""

    def has_threads(self, name: str) -> bool:
        """Whether it can hold threads at all. Loads no SDK."""
