"""What workers do while the database file cannot be used: wait, say so once a minute, and go on."""

import logging
import threading
import time
from collections.abc import Callable

from shared.backoff import backoff
from shared.errors import DataFileError

log = logging.getLogger(__name__)
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 5.0
SAY_EVERY = 60.0


class Outage:
    """Shared by all workers of a process, so that a full disk is reported by one of them."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._said_at: float | None = None

    def outlast(self, work: Callable[[], object], stopping: threading.Event) -> None:
        """Run `work` until the file does not refuse it, or the service stops. It must be safe to repeat.

        Raises all other errors.
        """
        tries = 0
        while True:
            try:
                work()
            except DataFileError as error:
                self.met(error)
            else:
                self.over()
                return
            tries += 1
            if stopping.wait(backoff(tries, first=FIRST_PAUSE, longest=LONGEST_PAUSE)):
                return

    def met(self, error: DataFileError) -> None:
        """Log what is wrong, unless that was done in the last minute."""
        with self._lock:
            now = self._now()
            if self._said_at is not None and now - self._said_at < SAY_EVERY:
                return
            self._said_at = now
        log.error("%s", error)

    def over(self) -> None:
        """Log that the file is usable again, if it was not."""
        with self._lock:
            was_said, self._said_at = self._said_at is not None, None
        if was_said:
            log.info("the database file can be used again")
