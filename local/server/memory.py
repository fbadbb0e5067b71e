"""Keep the process small, its start quick, its pauses short and its threads together."""

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from shared.platforms.late_certificates import certificates_when_used

_ARENA_MAX, _ARENAS = -8, 1
"""glibc gives each thread an arena of its own, up to eight per core, and keeps in each what was used there at most.
With the lock of the interpreter, threads rarely wait for a shared one."""
_SWITCH_SECONDS = 0.0015
"""Of Python's usual 0.005, for where the threads cannot share a core. A thread gives the interpreter up for each statement of
SQLite, and would wait that long to have it back, in a transaction that others wait for. Shorter than this, a hundred threads
spend more on taking turns."""
_OBJECTS = 10_000
"""New objects between two looks for garbage: many times Python's usual number, as a handoff makes thousands."""


def prepare() -> None:
    """At the start: hundreds of modules are loaded, and none of them is garbage."""
    gc.disable()
    sys.setswitchinterval(_SWITCH_SECONDS)
    _c_library("mallopt", _ARENA_MAX, _ARENAS)
    with certificates_when_used():
        import aiohttp  # noqa: F401, PLC0415  # the first import counts


def settle() -> None:
    """When everything is loaded: what is there now stays. The collector need not look at it again each time it runs."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS)
    gc.enable()
    trim()


def trim() -> None:
    """Give memory that is free back to the system. Takes milliseconds; other threads go on."""
    _c_library("malloc_trim", 0)


@contextmanager
def one_core() -> Iterator[None]:
    """Threads that are started in the block stay on one core, as do those that they start in turn.

    Python runs one of them at a time, and a hundred hand its lock over at each statement of SQLite. Between two cores that
    is an interrupt, which took 40 % of the load in a virtual machine. What runs without the lock (SQLite, hashes, TLS)
    loses the second core, which is less. The core is the one on which the system has put the caller; it is kept, and other
    programs on it can move away. After the block the caller is free: the programs of the user, which it starts, run on all.
    """
    before = None
    with suppress(OSError, AttributeError):  # macOS cannot do it, a sandbox may forbid it
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, before & {_c_library("sched_getcpu")} or before)
    try:
        yield
    finally:
        if before is not None:
            with suppress(OSError):
                os.sched_setaffinity(0, before)


class Rest:
    """Frees what was used for work when the work is over: `look` each second, with a number that work increases."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._done = 0
        self._since: float | None = None

    def look(self, done: int, now: float) -> bool:
        """Whether it has freed something: once, when nothing was done for so many seconds."""
        if done != self._done:
            self._done, self._since = done, now
        if self._since is None or now - self._since < self._seconds:
            return False
        self._since = None
        gc.collect()
        trim()
        return True


def _c_library(name: str, *arguments: Any) -> int | None:
    """Call a function of glibc; other systems need none of this."""
    function = getattr(ctypes.CDLL(None), name, None)
    return None if function is None else int(function(*arguments))
