"""Threads that take work: made when needed, kept for a while, and no obstacle to the end of the process."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)
_here = threading.local()


def lane() -> str | None:
    """The lane that this thread works for; None outside of lanes."""
    found: str | None = getattr(_here, "lane", None)
    return found


class Pool:
    """At most `size` threads. Unlike those of ThreadPoolExecutor they are daemons: a hanging call delays no exit.

    `freed` is called whenever one becomes free. A thread that had nothing to do for `idle_seconds` ends; None: never.
    `lane` is what the threads work for, as `lane()` tells it in them.
    """

    def __init__(
        self,
        size: int,
        name: str,
        freed: Callable[[], None] = lambda: None,
        *,
        idle_seconds: float | None = None,
        lane: str | None = None,
    ) -> None:
        self.size = size
        self._lane = lane
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
        _here.lane = self._lane
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


class Lanes:
    """A pool of `size` threads for each lane, made when it is needed: work of one lane never waits for another's."""

    def __init__(self, size: int, name: str, *, idle_seconds: float | None = None) -> None:
        self._size, self._name, self._idle_seconds = size, name, idle_seconds
        self._lock = threading.Lock()
        self._pools: dict[str, Pool] = {}

    def of(self, lane: str) -> Pool:
        with self._lock:
            if lane not in self._pools:
                name = f"{self._name}-{lane}"
                self._pools[lane] = Pool(self._size, name, idle_seconds=self._idle_seconds, lane=lane)
            return self._pools[lane]

    def all(self) -> list[Pool]:
        """Those that were made."""
        with self._lock:
            return list(self._pools.values())


class Visitors:
    """How many threads of other lanes may wait for one platform at once: it must not take all threads of their lanes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._count: dict[str, int] = {}

    @contextmanager
    def admitted(self, platform: str) -> Iterator[bool]:
        """False: too many do. Threads of the platform's own lane, and those outside of lanes, always may."""
        if lane() in (None, platform):
            yield True
            return
        with self._lock:
            count = self._count.get(platform, 0)
            is_admitted = count < self._most
            self._count[platform] = count + is_admitted
        try:
            yield is_admitted
        finally:
            with self._lock:
                self._count[platform] -= is_admitted
