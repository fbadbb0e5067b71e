"""Programs that Ctrl-C ends with a sentence, from their first moment on."""

import signal
import sys
from collections.abc import Callable
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130


def interruptible(program: Callable[[], int], last_words: str) -> int:
    """Run it to its exit code. Load what is slow to load inside it: an interrupted import is no reason for a traceback."""
    for signum in SIGNALS:
        signal.signal(signum, _interrupt)
    try:
        return program()
    except KeyboardInterrupt:
        sys.stdout.write(f"\n{last_words}\n")
        return INTERRUPTED


def _interrupt(*_: object) -> NoReturn:
    """Once: what is being put away then is not to be interrupted again."""
    for signum in SIGNALS:
        signal.signal(signum, signal.SIG_IGN)
    raise KeyboardInterrupt
