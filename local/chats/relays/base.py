"""The base of relays: their thread, start and stop, and the loop that connects again after a pause."""

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

from local.chats.relays.webhook import Backoff, Webhook

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Target:
    """The two ends of a relay: the service at `url` and the platform at `api_url`; `options` as the relay's spec lists them."""

    url: str
    api_url: str
    secrets: Mapping[str, str] = field(repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)


class Unusable(Exception):
    """Retries cannot help: a wrong token, a missing permission. The text is for a person and holds no secret."""


class RetryLater(Exception):
    """The platform asks for a retry, not before `after` seconds. The text holds no secret."""

    def __init__(self, why: str, after: float = 0.0) -> None:
        super().__init__(why)
        self.after = after


class Relay(ABC):
    """Forwards a platform's events to the webhook function, from `start` until `stop`.

    It reconnects by itself and confirms an event to the platform only after the webhook accepted it. `problem` tells
    why it gave up, if it did.
    """

    platform: ClassVar[str]

    def __init__(self, target: Target, *, pauses: Callable[[], Backoff] = Backoff) -> None:
        self.target, self.pauses = target, pauses
        self.webhook = Webhook(target.url, self.platform, self.sign, pauses=pauses)
        self.problem: str | None = None
        self.connected = threading.Event()
        self._ended = threading.Event()
        self._stopping = threading.Event()
        self._stop: Callable[[], object] | None = None
        self._thread = threading.Thread(target=self._main, name=f"relay-{self.platform}", daemon=True)

    @abstractmethod
    async def run(self) -> None:
        """Relay until cancelled. Sets `connected` at the first answer of the platform. Raises Unusable."""

    @abstractmethod
    def sign(self, raw: bytes, *, now: int) -> Mapping[str, str]:
        """The headers that authenticate an event; made for each attempt, because signatures expire."""

    def secret(self, name: str) -> str:
        """A secret of this platform, such as `bot_token`."""
        return self.target.secrets[f"{self.platform}/{name}"]

    def unusable(self, error: Exception) -> str:  # noqa: ARG002  # many errors say nothing of the kind
        """Why retries cannot help after this error, for a person; empty if they may."""
        return ""

    async def keep_connected(
        self, connect: Callable[[Backoff], Awaitable[None]], *failures: type[Exception]
    ) -> NoReturn:
        """Connect, and again after a pause whenever the connection ends or one of these failures is raised.

        `connect` resets the given pauses once the platform has answered. Raises Unusable, and what is no such failure.
        """
        backoff = self.pauses()
        expected: tuple[type[Exception], ...] = (RetryLater, *failures)
        while True:
            wait = 0.0
            try:
                await connect(backoff)
            except expected as error:
                if why := self.unusable(error):
                    raise Unusable(why) from None
                # Errors of the HTTP library may contain the URL, and the URL a token.
                shown = str(error) if isinstance(error, RetryLater) else type(error).__name__
                wait = error.after if isinstance(error, RetryLater) else 0.0
                log.warning("no connection to %s (%s); retrying", self.platform, shown)
            await backoff.pause(at_least=wait)

    def start(self) -> None:
        """Returns at once; `connected` is set when the platform has answered."""
        self._thread.start()

    def stop(self) -> None:
        """Stop and wait for the end; a second call does nothing."""
        self._stopping.set()
        if self._stop is not None and not self._ended.is_set():
            self._stop()
        if self._thread.is_alive():
            self._thread.join(15)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it gave up or was stopped; False if it still runs."""
        return self._ended.wait(seconds)

    def _main(self) -> None:
        try:
            asyncio.run(self._until_stopped())
        finally:
            self._ended.set()

    async def _until_stopped(self) -> None:
        loop = asyncio.get_running_loop()
        work = asyncio.ensure_future(self.run())
        self._stop = lambda: loop.call_soon_threadsafe(work.cancel)
        if self._stopping.is_set():  # `stop` was called before there was a task to cancel
            work.cancel()
        try:
            await work
        except asyncio.CancelledError:
            return
        except Unusable as problem:
            self.problem = str(problem)
            log.error("the %s relay has stopped: %s", self.platform, problem)  # noqa: TRY400  # a traceback adds nothing
        except Exception as error:  # the thread has no caller: report the error in `problem`
            self.problem = f"an internal error ({type(error).__name__}); see the log"
            log.exception("the %s relay failed", self.platform)
