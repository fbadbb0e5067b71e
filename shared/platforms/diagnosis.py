"""Findings about one platform, gathered within a given time."""

import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from shared.errors import PlatformError, RateLimited, Rejected
from shared.platforms.spec import PlatformSpec
from shared.ports.platforms import Finding


class Diagnosis:
    """Looks at one platform, one after the other, and what they found."""

    def __init__(self, spec: PlatformSpec, *, seconds: float) -> None:
        self.findings: list[Finding] = []
        self._platform, self._title = spec.name, spec.title
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """How many seconds the next look may take."""
        return max(self._end - time.monotonic(), 0.05)

    def good(self, name: str, detail: str) -> None:
        self.findings.append(Finding(name, ok=True, detail=detail, platform=self._platform))

    def bad(self, name: str, detail: str, fix: str) -> None:
        self.findings.append(Finding(name, ok=False, detail=detail, fix=fix, platform=self._platform))

    def unsure(self, name: str, detail: str, fix: str) -> None:
        """It could not be found out, or is a matter of choice: `fix` says how to see, or what one could do."""
        self.findings.append(Finding(name, ok=None, detail=detail, fix=fix, platform=self._platform))

    def trouble(self, name: str, error: PlatformError, fix: str) -> None:
        """Why a look saw nothing: it was refused (then `fix` helps), told to wait, or not answered."""
        if isinstance(error, Rejected):
            self.bad(name, f"{str(error).rstrip('.')}.", fix)
        elif isinstance(error, RateLimited):
            self.unsure(name, f"{self._title} asks to wait {error.after:.0f} s.", "Look again after that.")
        else:
            self.bad(
                name, f"{self._title} did not answer.", "Look again in a minute; handoffs try again by themselves."
            )

    def signing(self, secrets: Mapping[str, str | None]) -> None:
        """Whether there is what the platform's posts are verified with: at least one of these."""
        if given := [name for name, value in secrets.items() if value]:
            self.good("secrets", f"Set: {', '.join(given)}.")
        else:
            detail = f"Not set: {' or '.join(secrets)}. What is posted to the webhook is refused."
            self.bad("secrets", detail, f"Set it; docs/platforms/{self._platform}.md says how.")

    def address(self, actual: str, wanted: str, *, certain: bool, fix: str) -> None:
        """Whether the platform posts to this service. Not `certain` where only a request says what our address is."""
        here, there = urlsplit(wanted), urlsplit(actual)
        if actual.rstrip("/") == wanted:
            self.good("webhook", f"{self._title} posts to {wanted}.")
        elif there.path == here.path and not certain:
            detail = f"{self._title} posts to {there.netloc}, and this call came to {here.netloc}."
            self.unsure("webhook", detail, f"If both are this service, all is well. Else: {fix}")
        else:
            self.bad("webhook", f"{self._title} posts elsewhere, to {there.netloc}.", fix)


def is_out_of_reach(url: str) -> bool:
    """Whether this address means something on one machine only: no platform can post to it."""
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
