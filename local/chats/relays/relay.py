"""What all relays share: a thread of their own, a start, a stop, and one reason to give up."""

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

log = logging.getLogger(__name__)


class Unusable(Exception):
    """No retry will mend it: a wrong token, a missing right. The text is for a person and holds no secret."""


class Relay(ABC):
    """Brings a platform's events to the webhook function, from `start` until `stop`.

    It reconnects by itself and takes an event off the platform only when the webhook has it. `problem` says why it
    gave up, if it did.
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
        """Begin; returns at once. `connected` is set when the platform has answered."""
        self._thread.start()

    def stop(self) -> None:
        """End and wait for it; a second call does nothing."""
        self._stopping.set()
        if self._stop is not None and not self._ended.is_set():
            self._stop()
        if self._thread.is_alive():
            self._thread.join(15)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has ended by itself or was stopped; False if it still runs."""
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
        if self._stopping.is_set():  # asked before there was anything to cancel
            work.cancel()
        try:
            await work
        except asyncio.CancelledError:
            return
        except Unusable as problem:
            self.problem = str(problem)
            log.error("the %s relay has stopped: %s", self.platform, problem)  # noqa: TRY400  # a trace tells nothing
        except Exception as error:  # whoever started it must learn that it no longer runs, and a thread has no caller
            self.problem = f"an error of its own ({type(error).__name__}); the log tells where"
            log.exception("the %s relay has broken", self.platform)
