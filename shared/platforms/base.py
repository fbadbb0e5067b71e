"""The base of adapters: addresses, secrets, a client that is made on the first call, and the diagnosis."""

import threading
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from shared.domain.routes import Place
from shared.errors import Rejected, ThreadRefused
from shared.platforms.diagnosis import Asked, Diagnosis
from shared.platforms.spec import PlatformSpec
from shared.ports.platforms import Finding, Platform
from shared.ports.secrets import Secrets
from shared.settings import Settings


class Client(Protocol):
    """The connections to a platform."""

    def close(self) -> None: ...


A = TypeVar("A", bound=Client)


class BasePlatform(Platform, Generic[A]):
    """An adapter of one listed platform. A subclass sets `spec`, `name` and `diagnosis`, and makes its client.

    `webhook_url` is where this service receives the platform's webhooks; empty where no public address is set.
    """

    spec: PlatformSpec
    diagnosis: type[Diagnosis]

    def __init__(self, settings: Settings, secrets: Secrets) -> None:
        self._secrets = secrets
        self._urls = self.spec.urls(settings.platform_urls)
        self.webhook_url = f"{settings.public_url.rstrip('/')}/webhooks/{self.name}" if settings.public_url else ""
        self._lock = threading.Lock()
        self._client: A | None = None

    def new_api(self) -> A:
        """The client of the platform. Its SDK is imported here, as webhooks are parsed without it."""
        raise NotImplementedError

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:  # noqa: ARG002  # platforms without threads inherit this
        raise ThreadRefused(f"{self.spec.title} has no threads")

    def diagnose(self, home: Place | None, *, webhook_url: str, now: int, seconds: float) -> Sequence[Finding]:
        asked = Asked(home, webhook_url, certain=bool(self.webhook_url), now=now, seconds=seconds)
        return self.diagnosis(self.spec, self._api, self._secrets, asked).run()

    def close(self) -> None:
        """Close the connections, if there are any."""
        if self._client is not None:
            self._client.close()

    @property
    def _api(self) -> A:
        with self._lock:
            if self._client is None:
                self._client = self.new_api()
            return self._client

    def _secret(self, name: str) -> str:
        """A secret of this platform, such as `bot_token`. Raises Rejected while it is not set."""
        if value := self._secrets.get(f"{self.name}/{name}"):
            return value
        raise Rejected(f"The secret {self.name}/{name} is not set")
