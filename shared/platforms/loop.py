"""One event loop per process, in a background thread, so that synchronous code can call asynchronous chat SDKs."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# How long a cancelled call may take to end before its caller stops waiting for it.
_GRACE = 1.0


class Loop:
    """A loop that lives as long as the process.

    SDKs keep connections that belong to the loop they were made on: with a loop per call the next call would fail.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="platforms", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], *, timeout: float) -> T:
        """Wait for `work`, from any thread except the loop's. Raises TimeoutError about `timeout` seconds later.

        On a time-out the work is cancelled; whether it had its effect is not known.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a call on the event loop cannot wait for another call on it")
        future = asyncio.run_coroutine_threadsafe(_bounded(work, timeout), self._loop)
        try:
            return future.result(timeout + _GRACE)
        except TimeoutError:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop and its thread (for tests)."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()


async def _bounded(work: Coroutine[Any, Any, T], seconds: float) -> T:
    # After a frozen container resumes, two turns of the loop detect connections that the server has closed.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    async with asyncio.timeout(seconds):
        return await work


_lock = threading.Lock()
_loops: dict[int, Loop] = {}


def run(work: Coroutine[Any, Any, T], *, timeout: float) -> T:
    """Wait for `work` on the loop of this process, which is made at first use, also after a fork."""
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = Loop()
    return loop.run(work, timeout=timeout)
