"""Delivers stream records in order, one batch after another, on a thread that ends when there are no records."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from local.cloud.sources.delivery import Batch
from local.cloud.sources.record import Record


class Lane:
    """Collects up to `size` records or for `window` seconds, whichever ends first, then delivers them as one batch."""

    def __init__(self, deliver: Callable[[Batch], None], *, size: int, window: float) -> None:
        self._deliver = deliver
        self._size = size
        self._window = window
        self._records: deque[Record] = deque()
        self._changed = threading.Condition()
        self._busy = False
        self._stopped = False

    def add(self, records: Iterable[Record]) -> None:
        with self._changed:
            self._records.extend(records)
            self._changed.notify_all()
            if self._records and not self._busy and not self._stopped:
                self._busy = True
                threading.Thread(target=self._work, name="stream lane", daemon=True).start()

    def stop(self) -> None:
        """Start no more batches; one in progress continues."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def join(self, seconds: float) -> bool:
        """Wait until no batch is in progress; return False after `seconds`."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, seconds)

    def _work(self) -> None:
        while batch := self._next_batch():
            self._deliver(batch)

    def _next_batch(self) -> Batch:
        until = time.monotonic() + self._window
        with self._changed:
            if self._records and self._window:
                self._changed.wait_for(
                    lambda: len(self._records) >= self._size or self._stopped, until - time.monotonic()
                )
            count = 0 if self._stopped else min(self._size, len(self._records))
            batch = [self._records.popleft() for _ in range(count)]
            if not batch:
                self._busy = False
                self._changed.notify_all()
            return batch
