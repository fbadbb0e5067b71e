"""What all relays share: their thread, start and stop, and the pauses between attempts."""

import asyncio
import logging
import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from shared.backoff import backoff

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Target:
    """What a relay connects: the service at `url` and the platform at `api_url`; `options` as the relay's spec lists them."""

    url: str
    api_url: str
    secrets: Mapping[str, str] = field(repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)


class Unusable(Exception):
    """Retries cannot help: a wrong token, a missing permission. The text is for a person and holds no secret."""


class Backoff:
    """Pauses that double from `first` to `longest` seconds, with jitter so that relays do not reconnect in step."""

    def __init__(self, first: float = 0.2, longest: float = 15.0) -> None:
        self._first = first
        self._longest = longest
        self._attempts = 0

    def reset(self) -> None:
        """The next pause is the first one again."""
        self._attempts = 0

    def next(self) -> float:
        """Seconds until the next attempt."""
        self._attempts += 1
        pause = backoff(self._attempts, first=self._first, longest=self._longest)
        return pause * random.uniform(0.5, 1)  # noqa: S311  # jitter, not a secret

    async def pause(self, *, at_least: float = 0.0) -> None:
        """Wait until the next attempt."""
        await asyncio.sleep(max(at_least, self.next()))


class Relay(ABC):
    """Forwards a platform's events to the webhook function, from `start` until `stop`.

    It reconnects by itself and confirms an event to the platform only after the webhook accepted it. `problem` tells
    why it gave up, if it did.
    """

    platform: ClassVar[str]

    def __init__(self) -> None:
        self.problem: str | None = None
        self.connected = threading.Event()
        self._ended = threading.Event()
        self._stopping = threading.Event()
        self._stop: Callable[[], object] | None = None
        self._thread = threading.Thread(target=self._main, name=f"relay-{self.platform}", daemon=True)

    @abstractmethod
    async def run(self) -> None:
        """Relay until cancelled. Sets `connected` at the first answer of the platform. Raises Unusable."""

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
