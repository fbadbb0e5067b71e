"""Wait for a condition that other threads or processes bring about."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PAUSE = 0.01  # a look may cost a request; looking without a pause would starve the service


def eventually(look: Callable[[], T | None], *, within: float = 20.0, show: Callable[[], object] | None = None) -> T:
    """Call `look` until it returns something true, and return that. An AssertionError in it counts as "not yet".

    After `within` seconds it raises an AssertionError with the last result, the last failed assertion, and what
    `show` returns.
    """
    deadline = time.monotonic() + within
    while True:
        failed: AssertionError | None = None
        seen: T | None = None
        try:
            if seen := look():
                return seen
        except AssertionError as error:
            failed = error
        if time.monotonic() >= deadline:
            last = f"last assertion: {failed}" if failed else f"last result: {seen!r}"
            raise AssertionError(f"not within {within:g} s; {last}" + (f"; {show()!r}" if show else "")) from failed
        time.sleep(PAUSE)


def on_this_machine(seconds: float) -> float:
    """A promise in seconds of a free machine, on this one: as much longer as there is more to do than it has cores."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
