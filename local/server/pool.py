"""Threads that take work: made when needed, kept for a while, and no obstacle to the end of the process."""

import logging
import threading
from collections import deque
from collections.abc import Callable

log = logging.getLogger(__name__)


class Pool:
    """At most `size` threads. Unlike those of ThreadPoolExecutor they are daemons: a hanging call delays no exit.

    `freed` is called whenever one becomes free. A thread that had nothing to do for `idle_seconds` ends; None: never.
    """

    def __init__(
        self, size: int, name: str, freed: Callable[[], None] = lambda: None, *, idle_seconds: float | None = None
    ) -> None:
        self.size = size
        self._idle_seconds = idle_seconds
        self._name = name
        self._freed = freed
        self._work: deque[Callable[[], object]] = deque()
        lock = threading.Lock()
        self._added = threading.Condition(lock)  # not a SimpleQueue: its get() can miss its time-out in Python 3.11
        self._done = threading.Condition(lock)
        self._open = 0
        self._threads = 0

    @property
    def free(self) -> int:
        """How much work would begin at once."""
        return self.size - self._open

    def submit(self, work: Callable[[], object]) -> None:
        """Run `work` in a thread, now or when one is free. Its errors are logged."""
        with self._added:
            self._open += 1
            self._work.append(work)
            if self._threads < min(self._open, self.size):
                self._threads += 1
                threading.Thread(target=self._run, name=f"{self._name}-{self._threads}", daemon=True).start()
            else:
                self._added.notify()

    def wait_idle(self, seconds: float) -> bool:
        """Wait until all work is done; False if some is not in time."""
        with self._done:
            return self._done.wait_for(lambda: self._open == 0, max(0.0, seconds))

    def _next(self) -> Callable[[], object] | None:
        """Wait for work; None: there was none for so long that this thread ends."""
        with self._added:
            if not self._added.wait_for(lambda: self._work, self._idle_seconds):
                self._threads -= 1
                return None
            return self._work.popleft()

    def _run(self) -> None:
        while work := self._next():
            try:
                work()
            except Exception:
                log.exception("work in a thread failed unexpectedly")
            del work  # its result must not live as long as the thread is idle
            with self._done:
                self._open -= 1
                if not self._open:
                    self._done.notify_all()
            self._freed()
