"""The diagnosis of a platform: the order of its checks, their findings, and the time that is left."""

import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from shared.domain.routes import Place
from shared.errors import PlatformError, RateLimited, Rejected
from shared.platforms.spec import PlatformSpec
from shared.ports.platforms import Finding
from shared.ports.secrets import Secrets


@dataclass(frozen=True)
class Asked:
    """The arguments of `Platform.diagnose`. Not `certain`: the address was taken from the request itself."""

    home: Place | None
    webhook_url: str
    certain: bool
    now: int
    seconds: float


class Diagnosis:
    """The checks of one platform; a subclass implements `check_bot`, `check_webhook` and `check_home`.

    Each of them adds findings and may raise PlatformErrors: then the fix of that check is shown.
    """

    signing: tuple[str, ...]
    """The secrets with which webhooks are verified; one of them is enough."""
    bot_fix: str
    home_fix: str

    def __init__(self, spec: PlatformSpec, api: Any, secrets: Secrets, asked: Asked) -> None:
        self.findings: list[Finding] = []
        self.spec, self.api, self.secrets, self.asked = spec, api, secrets, asked
        self._end = time.monotonic() + asked.seconds

    def check_bot(self) -> str:
        """Call the platform; returns what is known of the bot. Without an answer nothing else is checked."""
        raise NotImplementedError

    def check_webhook(self) -> None:
        raise NotImplementedError

    def check_home(self, home: Place) -> None:
        """That the bot is in the chat, and may open threads there."""
        raise NotImplementedError

    def run(self) -> list[Finding]:
        """See `Platform.diagnose`."""
        try:
            self.good("bot", self.check_bot())
        except PlatformError as error:
            self.trouble("bot", error, self.bot_fix)
            return self.findings
        self._check_secrets()
        try:
            self.check_webhook()
        except PlatformError as error:
            self.trouble("webhook", error, "Try again in a minute.")
        if self.asked.home is not None:
            try:
                self.check_home(self.asked.home)
            except PlatformError as error:
                self.trouble("home", error, self.home_fix)
        return self.findings

    @property
    def left(self) -> float:
        """How many seconds the next check may take."""
        return max(self._end - time.monotonic(), 0.05)

    @property
    def set_up(self) -> str:
        """The command that mends what the set-up of a bot has left wrong."""
        return f"handoff setup {self.spec.name}"

    def good(self, name: str, detail: str) -> None:
        self.findings.append(Finding(name, ok=True, detail=detail, platform=self.spec.name))

    def bad(self, name: str, detail: str, fix: str) -> None:
        self.findings.append(Finding(name, ok=False, detail=detail, fix=fix, platform=self.spec.name))

    def unsure(self, name: str, detail: str, fix: str) -> None:
        """It could not be determined, or is optional: `fix` says how to find out, or what is possible."""
        self.findings.append(Finding(name, ok=None, detail=detail, fix=fix, platform=self.spec.name))

    def trouble(self, name: str, error: PlatformError, fix: str) -> None:
        """A check failed: it was refused (`fix` says what to do), rate limited, or not answered."""
        if isinstance(error, Rejected):
            self.bad(name, f"{str(error).rstrip('.')}.", fix)
        elif isinstance(error, RateLimited):
            self.unsure(name, f"{self.spec.title} asks to wait {error.after:.0f} s.", "Try again after that.")
        else:
            again = "Try again in a minute; handoffs are retried automatically."
            self.bad(name, f"{self.spec.title} did not answer.", again)

    def address(self, actual: str, *, certain: bool, fix: str) -> None:
        """Whether the platform posts to this service. Not `certain`: the service may have another address, too."""
        wanted = self.asked.webhook_url
        here, there = urlsplit(wanted), urlsplit(actual)
        if actual.rstrip("/") == wanted:
            self.good("webhook", f"{self.spec.title} posts to {wanted}.")
        elif there.path == here.path and not certain:
            detail = f"{self.spec.title} posts to {there.netloc}, and this call came to {here.netloc}."
            self.unsure("webhook", detail, f"Correct if both are this service. If not: {fix}")
        else:
            self.bad("webhook", f"{self.spec.title} posts to another service: {there.netloc}.", fix)

    def _check_secrets(self) -> None:
        if given := [name for name in self.signing if self.secrets.get(name)]:
            self.good("secrets", f"Set: {', '.join(given)}.")
        else:
            detail = f"Not set: {' or '.join(self.signing)}. All webhooks are refused."
            self.bad("secrets", detail, self.set_up)
