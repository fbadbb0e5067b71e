"""Repeated work beside something long: one thread waits for all of it, and a thread is made only for what is due."""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Self

log = logging.getLogger(__name__)
JOIN_SECONDS = 1.0


class Beats:
    """Runs each beat again and again until the end, whatever it raises: the next time may succeed.

    Every beat has a thread while it runs, so that one that hangs delays no other. Most turns end before the first beat
    is due, and need no thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[threading.Thread] = set()
        self._is_over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Begin no more, and wait for what runs, up to a second for each beat."""
        self.end()
        with self._lock:
            running = tuple(self._running)
        for thread in running:
            thread.join(JOIN_SECONDS)

    def repeat(self, beat: Callable[[], None], every: float, *, first: float | None = None) -> None:
        """Run `beat` each `every` seconds from now on; `first`: seconds until the first time, if these are others."""
        self._later(beat, every, every if first is None else first)

    def end(self) -> None:
        """Begin no more. Beats may call it."""
        self._is_over = True

    def _later(self, beat: Callable[[], None], every: float, seconds: float) -> None:
        _SCHEDULE.add(time.monotonic() + seconds, lambda: self._begin(beat, every))

    def _begin(self, beat: Callable[[], None], every: float) -> None:
        with self._lock:  # so that `__exit__` sees every thread that was started
            if self._is_over:
                return
            thread = threading.Thread(target=lambda: self._run(beat, every), name="beat", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # too many threads at the moment
                log.warning("a beat was left out: no thread can be started")
                self._later(beat, every, every)
            else:
                self._running.add(thread)

    def _run(self, beat: Callable[[], None], every: float) -> None:
        try:
            beat()
        except Exception as trouble:  # noqa: BLE001  # callers check what was done before they rely on it
            log.warning("a beat failed: %s", type(trouble).__name__)
        with self._lock:
            self._running.discard(threading.current_thread())
        if not self._is_over:
            self._later(beat, every, every)


class _Schedule:
    """Calls each function at its time, in one thread that ends when there is nothing more. The functions return at once."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def add(self, at: float, call: Callable[[], None]) -> None:
        with self._changed:
            entry = (at, next(self._numbers), call)
            heapq.heappush(self._due, entry)
            if self._thread is None or not self._thread.is_alive():  # a fork has no threads
                self._thread = threading.Thread(target=self._run, name="beats", daemon=True)
                self._thread.start()
            elif self._due[0] is entry:
                self._changed.notify()

    def _run(self) -> None:
        while call := self._next():
            call()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while self._due:
                pause = self._due[0][0] - time.monotonic()
                if pause <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(pause)
            self._thread = None
            return None


_SCHEDULE = _Schedule()
