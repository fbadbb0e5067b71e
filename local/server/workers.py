"""Workers in threads, as event sources are on AWS: messages of a queue, pending handoffs, the sweep; and full disks."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from local.server.pool import Lanes, Pool
from shared.backoff import backoff
from shared.errors import DataFileError
from shared.ports.clock import Clock
from shared.sqlite.queues import Received, SqliteQueue

log = logging.getLogger(__name__)
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 5.0
SAY_EVERY = 60.0
LONGEST_WAIT = 60.0
AFTER_ERROR = 1.0
SWEEP_EVERY = 60.0


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


class QueueWorkers:
    """Gives each message to a thread when it is ready. `wake` must be set when the queue has changed.

    `freed` must be called when a thread is free.
    """

    def __init__(
        self,
        queue: SqliteQueue,
        clock: Clock,
        wake: threading.Event,
        pool: Pool,
        work: Callable[[Received], object],
        *,
        outage: Outage | None = None,
    ) -> None:
        self._queue, self._clock, self._wake, self._pool, self._work = queue, clock, wake, pool, work
        self._outage = outage or Outage()
        self._stopping = threading.Event()
        self._waits_for_thread = False
        self._thread = threading.Thread(target=self._hand_out, name=f"{queue.name}-queue", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def freed(self) -> None:
        """A thread is free. Returns at once."""
        if self._waits_for_thread:
            self._wake.set()

    def stop(self, seconds: float = 1.0) -> None:
        """Take no more messages, and wait for the one that is being taken. What runs goes on."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(max(0.0, seconds))

    def _hand_out(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                pause = self._receive()
            except DataFileError as error:  # the messages stay where they are
                self._outage.met(error)
                pause = AFTER_ERROR
            except Exception:
                log.exception("the queue %s cannot be read", self._queue.name)
                pause = AFTER_ERROR
            self._wake.wait(pause)

    def _receive(self) -> float:
        """Hand out what is ready; returns the seconds until something may be, unless the queue changes before."""
        while (free := self._free()) > 0 and not self._stopping.is_set():
            received = self._queue.receive(limit=free)
            for one in received:
                self._pool.submit(lambda one=one: self._run(one))  # type: ignore[misc]  # mypy cannot infer the default
            if len(received) < free:
                next_at = self._queue.next_at()
                return LONGEST_WAIT if next_at is None else self._seconds_until(next_at)
        return LONGEST_WAIT

    def _free(self) -> int:
        """How many threads are free. If none is, the next one wakes this thread: noted before it is counted."""
        self._waits_for_thread = True
        free = self._pool.free
        self._waits_for_thread = free <= 0
        return free

    def _run(self, received: Received) -> None:
        try:
            self._outage.outlast(lambda: self._work(received), self._stopping)
        except Exception:  # the message comes again after its visibility time-out
            log.exception("a message of the queue %s failed unexpectedly", self._queue.name)

    def _seconds_until(self, at: int) -> float:
        return min(LONGEST_WAIT, max(0.001, (at - self._clock.now()) / 1000))


class HandoffWorkers:
    """Processes pending handoffs as writes leave them: several at once, each by one thread at a time.

    The threads are those of the handoff's platform.
    """

    def __init__(self, lanes: Lanes, process: Callable[[str], None], outage: Outage | None = None) -> None:
        self._lanes, self._process, self._outage = lanes, process, outage or Outage()
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._again: set[str] = set()
        self._stopping = threading.Event()

    def changed(self, handoff: Any) -> None:
        """For every handoff that was written, after the commit."""
        if handoff.get("state") == "pending":
            self.wake(handoff["handoff_id"], handoff["platform"])

    def wake(self, handoff_id: str, platform: str) -> None:
        """Process a handoff, once more if it is being processed. Returns at once."""
        with self._lock:
            if self._stopping.is_set():
                return
            if handoff_id in self._busy:
                self._again.add(handoff_id)
                return
            self._busy.add(handoff_id)
        self._lanes.of(platform).submit(lambda: self._run(handoff_id))

    def stop(self) -> None:
        """Begin no more: what is pending is processed after the next start."""
        with self._lock:
            self._stopping.set()
            self._again.clear()

    def _run(self, handoff_id: str) -> None:
        is_wanted = not self._stopping.is_set()  # it may have waited for a thread
        while is_wanted:
            self._attempt(handoff_id)
            with self._lock:
                is_wanted = handoff_id in self._again
                self._again.discard(handoff_id)
                if not is_wanted:
                    self._busy.discard(handoff_id)

    def _attempt(self, handoff_id: str) -> None:
        """Process it. After an unexpected error a second call sees to it that it is looked at when its lease is over."""
        for pause in (AFTER_ERROR, 0.0):
            try:
                self._outage.outlast(lambda: self._process(handoff_id), self._stopping)
            except Exception:
                log.exception("handoff %s: an attempt failed unexpectedly", handoff_id)
                time.sleep(pause)
            else:
                return


class Sweeper:
    """Runs `sweep` at once and then each minute."""

    def __init__(
        self, sweep: Callable[[], object], outage: Outage | None = None, *, every: float = SWEEP_EVERY
    ) -> None:
        self._sweep, self._every, self._outage = sweep, every, outage or Outage()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweep", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float) -> bool:
        """Begin no more; wait for the one that runs. False if it is not done in time."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            try:
                self._outage.outlast(self._sweep, self._stopping)
            except Exception:
                log.exception("a sweep failed unexpectedly")
            if self._stopping.wait(self._every):
                return
