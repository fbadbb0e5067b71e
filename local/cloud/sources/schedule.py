"""A schedule as an event source: invokes a function at a fixed rate, also while the last call still runs."""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from local.cloud.invoke import Invoker, Result
from local.cloud.stack import REGION, Schedule

RETRY_PAUSE = 60.0


class ScheduleSource:
    """Fires every `rate_seconds` after `start`, for the first time one interval later. `fire_now` fires once more.

    A failed call is repeated as Lambda repeats asynchronous calls: after one minute, then after two.
    `pause(seconds)` waits for the next time; it returns False when the source stops.
    """

    def __init__(
        self,
        schedule: Schedule,
        invoker: Invoker,
        *,
        account: str,
        now: Callable[[], float] = time.time,
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        self._schedule = schedule
        self._invoker = invoker
        self._account = account
        self._now = now
        self._stopped = threading.Event()
        self._pause = pause or (lambda seconds: not self._stopped.wait(seconds))

    def start(self) -> None:
        threading.Thread(target=self._tick, name=f"schedule {self._schedule.function}", daemon=True).start()

    def stop(self) -> None:
        """Fire no more; a call in progress ends by itself."""
        self._stopped.set()

    def fire_now(self) -> Result:
        """Invoke the function once and wait for the result."""
        return self._invoker.invoke(self._schedule.function, self._event())

    def _tick(self) -> None:
        while self._pause(self._schedule.rate_seconds) and not self._stopped.is_set():
            threading.Thread(target=self._call, name="scheduled call", daemon=True).start()

    def _call(self) -> None:
        event = self._event()
        for attempt in range(self._schedule.retries + 1):
            result = self._invoker.invoke(self._schedule.function, event)
            is_last = attempt == self._schedule.retries
            if result.error is None or is_last or not self._pause(RETRY_PAUSE * (attempt + 1)):
                return

    def _event(self) -> Mapping[str, Any]:
        """Return the schedule's payload, or the default of EventBridge Scheduler (whose `detail` is a string)."""
        return self._schedule.payload or {
            "version": "0",
            "id": str(uuid4()),
            "detail-type": "Scheduled Event",
            "source": "aws.scheduler",
            "account": self._account,
            "time": datetime.fromtimestamp(self._now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": REGION,
            "resources": [f"arn:aws:scheduler:{REGION}:{self._account}:schedule/default/{self._schedule.function}"],
            "detail": "{}",
        }
