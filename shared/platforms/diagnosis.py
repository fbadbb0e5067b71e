"""Collects the findings of one diagnosis, within a given time."""

import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from shared.errors import PlatformError, RateLimited, Rejected
from shared.platforms.spec import PlatformSpec
from shared.ports.platforms import Finding


class Diagnosis:
    """The findings so far, and the time that is left for more checks."""

    def __init__(self, spec: PlatformSpec, *, seconds: float) -> None:
        self.findings: list[Finding] = []
        self._platform, self._title = spec.name, spec.title
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """How many seconds the next check may take."""
        return max(self._end - time.monotonic(), 0.05)

    @property
    def set_up(self) -> str:
        """The command that mends what the set-up of a bot has left wrong."""
        return f"handoff setup {self._platform}"

    def good(self, name: str, detail: str) -> None:
        self.findings.append(Finding(name, ok=True, detail=detail, platform=self._platform))

    def bad(self, name: str, detail: str, fix: str) -> None:
        self.findings.append(Finding(name, ok=False, detail=detail, fix=fix, platform=self._platform))

    def unsure(self, name: str, detail: str, fix: str) -> None:
        """It could not be determined, or is optional: `fix` says how to find out, or what is possible."""
        self.findings.append(Finding(name, ok=None, detail=detail, fix=fix, platform=self._platform))

    def trouble(self, name: str, error: PlatformError, fix: str) -> None:
        """A check failed: it was refused (`fix` says what to do), rate limited, or not answered."""
        if isinstance(error, Rejected):
            self.bad(name, f"{str(error).rstrip('.')}.", fix)
        elif isinstance(error, RateLimited):
            self.unsure(name, f"{self._title} asks to wait {error.after:.0f} s.", "Try again after that.")
        else:
            self.bad(
                name, f"{self._title} did not answer.", "Try again in a minute; handoffs are retried automatically."
            )

    def signing(self, secrets: Mapping[str, str | None]) -> None:
        """Whether at least one of the secrets is set with which webhooks are verified."""
        if given := [name for name, value in secrets.items() if value]:
            self.good("secrets", f"Set: {', '.join(given)}.")
        else:
            detail = f"Not set: {' or '.join(secrets)}. All webhooks are refused."
            self.bad("secrets", detail, self.set_up)

    def address(self, actual: str, wanted: str, *, certain: bool, fix: str) -> None:
        """Whether the platform posts to this service. Not `certain`: the address was taken from the request itself."""
        here, there = urlsplit(wanted), urlsplit(actual)
        if actual.rstrip("/") == wanted:
            self.good("webhook", f"{self._title} posts to {wanted}.")
        elif there.path == here.path and not certain:
            detail = f"{self._title} posts to {there.netloc}, and this call came to {here.netloc}."
            self.unsure("webhook", detail, f"Correct if both are this service. If not: {fix}")
        else:
            self.bad("webhook", f"{self._title} posts to another service: {there.netloc}.", fix)


def is_out_of_reach(url: str) -> bool:
    """Whether this address is local to one machine, so that no platform can post to it."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
