"""One event loop per process, in a thread of its own, so that asynchronous chat SDKs can be called from anywhere."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

# How long a cancelled call may take to wind up before its caller is let go without it.
_GRACE = 1.0


class Loop:
    """A loop that outlives every call on it.

    SDKs keep connections that belong to the loop they were made on: a loop per call breaks the next call.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="platforms", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], *, timeout: float) -> T:
        """Wait for `work`, from any thread but the loop's own. Raises TimeoutError after `timeout` seconds at the latest.

        On a time-out the work is cancelled; whether it had its effect is not known.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a call on the platforms' loop cannot wait for another one there")
        future = asyncio.run_coroutine_threadsafe(_bounded(work, timeout), self._loop)
        try:
            return future.result(timeout + _GRACE)
        except TimeoutError:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop and its thread; for tests, as a process simply ends."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()


async def _bounded(work: Coroutine[Any, Any, T], seconds: float) -> T:
    # After a freeze, two turns let the loop notice connections that the other side closed meanwhile.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return await asyncio.wait_for(work, seconds)


_lock = threading.Lock()
_loops: dict[int, Loop] = {}


def run(work: Coroutine[Any, Any, T], *, timeout: float) -> T:
    """Wait for `work` on the loop of this process, which is made at first use (and anew in a forked child)."""
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = Loop()
    return loop.run(work, timeout=timeout)
