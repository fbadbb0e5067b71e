"""Keep the threads of the service on one core, where it is cheap to hand the lock of the interpreter over."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def one_core() -> Iterator[None]:
    """Threads that are started in the block stay on the core of the caller, as do those that they start in turn.

    They never compute at the same time, but a hundred of them hand the lock over at each statement of SQLite. Between two
    cores each of these is an interrupt: in a virtual machine they were half of the load. After the block the caller is
    as free as before, so programs that it starts then, such as the agents of the user, run on all cores.
    """
    if not hasattr(os, "sched_setaffinity"):  # macOS
        yield
        return
    allowed = os.sched_getaffinity(0)
    _stay_on({_current_core()} & allowed or allowed)
    try:
        yield
    finally:
        _stay_on(allowed)


def _stay_on(cores: set[int]) -> None:
    with suppress(OSError):  # a sandbox may forbid it
        os.sched_setaffinity(0, cores)


def _current_core() -> int:
    """Where the system lets this thread run: rather a fast core than a slow one, rather a free one than a busy one."""
    return int(ctypes.CDLL(None).sched_getcpu())
