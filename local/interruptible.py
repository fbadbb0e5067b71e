"""Programs that Ctrl-C ends with a message and no traceback, even during imports."""

import signal
import sys
from collections.abc import Callable
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130


def interruptible(program: Callable[[], int], message: str) -> int:
    """Run the program and return its exit code. It should do slow imports itself, so that they can be interrupted."""
    for signum in SIGNALS:
        signal.signal(signum, _interrupt)
    try:
        return program()
    except KeyboardInterrupt:
        sys.stdout.write(f"\n{message}\n")
        return INTERRUPTED


def _interrupt(*_: object) -> NoReturn:
    """Only the first signal interrupts: the clean-up that follows must run to its end."""
    for signum in SIGNALS:
        signal.signal(signum, signal.SIG_IGN)
    raise KeyboardInterrupt
