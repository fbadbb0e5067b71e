"""Setting up a bot: what to click, which secrets to ask for, and the calls that check and connect it."""

import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shared.platforms.spec import PlatformSpec

CALL_SECONDS = 15.0
Secrets = Mapping[str, str]
"""Values by name, such as `telegram/bot_token`."""


@dataclass(frozen=True)
class Way:
    """How messages come in: the platform posts to `webhook_url`, or if that is empty, a relay beside the service fetches them.

    `api_url` is the platform's API; `link_url` is what its links for people begin with.
    """

    api_url: str
    link_url: str
    webhook_url: str = ""

    @property
    def uses_relay(self) -> bool:
        return not self.webhook_url


@dataclass(frozen=True)
class AskedSecret:
    """A secret that the person copies from the platform, or with `is_hidden` False an address to be kept with them.

    `form` is a regular expression, `looks` an example of it.
    """

    name: str
    prompt: str
    form: str = r"\S{8,}"
    looks: str = ""
    is_hidden: bool = True

    def fits(self, value: str) -> bool:
        return re.fullmatch(self.form, value) is not None


@dataclass(frozen=True)
class Checked:
    """The platform's statement about a secret, for people; and secrets that follow from it."""

    said: str = ""
    secrets: Secrets = field(default_factory=dict, repr=False)


class SetUp(Protocol):
    """The set-up of one platform. `check` and `connect` call it, and raise PlatformErrors."""

    def steps(self, way: Way) -> Sequence[str]:
        """The steps on the platform's pages before the secrets can be copied."""

    def asked(self, way: Way) -> Sequence[AskedSecret]:
        """The secrets to ask for, in this order."""

    def generated(self, way: Way) -> Sequence[str]:  # noqa: ARG002  # many platforms inherit these three
        """Secrets to choose at random, unless they are set."""
        return ()

    def check(self, name: str, secrets: Secrets, way: Way) -> Checked:
        """Try a secret that was given. Raises Rejected if the platform does not accept it. Changes nothing."""

    def used_by(self, secrets: Secrets, way: Way) -> str:  # noqa: ARG002
        """Which other service gets the bot's messages, as `connect` would end that; empty if none does."""
        return ""

    def connect(self, secrets: Secrets, way: Way) -> Sequence[str]:  # noqa: ARG002
        """Tell the platform where messages go, once the service has the secrets. Returns what is left to do. May be repeated."""
        return ()


class PlainSetUp(SetUp):
    """For a platform that describes none: asks for the secrets of its spec, and for nothing else."""

    def __init__(self, spec: PlatformSpec, shared: Sequence[str] = ()) -> None:
        """`shared` are secrets that only the service and its relay know, so that no person has them."""
        self._spec, self._shared = spec, shared

    def steps(self, way: Way) -> Sequence[str]:  # noqa: ARG002  # the interface
        return [f"Make the bot as docs/platforms/{self._spec.name}.md says."]

    def asked(self, way: Way) -> Sequence[AskedSecret]:  # noqa: ARG002
        names = [name for name in self._spec.secrets if name not in self._shared]
        return [AskedSecret(name, name.partition("/")[2].replace("_", " ")) for name in names]

    def generated(self, way: Way) -> Sequence[str]:  # noqa: ARG002
        return [name for name in self._shared if name in self._spec.secrets]

    def check(self, name: str, secrets: Secrets, way: Way) -> Checked:  # noqa: ARG002
        return Checked()


def guide_of(spec: PlatformSpec) -> SetUp:
    """The platform's own set-up, or one that only asks for its secrets. Raises ImportError if its SDK is not installed."""
    if not spec.set_up:
        return PlainSetUp(spec)
    module, _, name = spec.set_up.partition(":")
    guide: SetUp = getattr(importlib.import_module(module), name)()
    return guide
