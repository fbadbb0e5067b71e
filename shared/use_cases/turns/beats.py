"""Work that is repeated while a longer operation runs: one thread waits for all of it."""

import heapq
import itertools
import logging
import os
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
        """Start no further beats, and wait for those that run, up to a second for each."""
        self.end()
        with self._lock:
            running = tuple(self._running)
        for thread in running:
            thread.join(JOIN_SECONDS)

    def repeat(self, beat: Callable[[], None], every: float, *, first: float | None = None) -> None:
        """Run `beat` each `every` seconds from now on; the first time after `first` seconds, if it is given."""
        self._later(beat, every, every if first is None else first)

    def end(self) -> None:
        """Start no further beats. Beats may call it."""
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
    """Calls each function at its time. Its one thread starts with the first function, and stays."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin without functions and without a thread, as a fork must: the thread is in the other process."""
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._has_thread = False

    def add(self, at: float, call: Callable[[], None]) -> None:
        with self._changed:
            if not self._has_thread:
                threading.Thread(target=self._run, name="beats", daemon=True).start()
                self._has_thread = True
            entry = (at, next(self._numbers), call)
            heapq.heappush(self._due, entry)
            if self._due[0] is entry:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            call = self._next()
            try:
                call()
            except Exception:  # the others are still wanted
                log.exception("a beat could not be started")
            del call  # what it refers to must not live until the next one

    def _next(self) -> Callable[[], None]:
        """Wait until a function is due."""
        with self._changed:
            while True:
                pause = self._due[0][0] - time.monotonic() if self._due else None
                if pause is not None and pause <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(pause)


_SCHEDULE = _Schedule()
os.register_at_fork(after_in_child=_SCHEDULE.clear)
