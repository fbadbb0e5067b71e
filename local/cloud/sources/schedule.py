"""A schedule as an event source: the function is called at a fixed rate, whether or not the last call is over."""

import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from local.cloud.invoke import REGION, Invoker, Result
from local.cloud.stack import Schedule


class ScheduleSource:
    """Fires each `rate_seconds` after `start`, the first time one rate later. `fire_now` fires in between."""

    def __init__(
        self,
        schedule: Schedule,
        invoker: Invoker,
        *,
        account: str,
        now: Callable[[], float] = time.time,
        on_result: Callable[[Result], None] | None = None,
    ) -> None:
        self._schedule = schedule
        self._invoker = invoker
        self._account = account
        self._now = now
        self._on_result = on_result or (lambda _: None)
        self._stopped = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._tick, name=f"schedule {self._schedule.function}", daemon=True).start()

    def stop(self, patience: float = 0.0) -> None:  # noqa: ARG002 - all sources stop alike; a call in flight ends by itself
        """Fires no more."""
        self._stopped.set()

    def fire_now(self) -> Result:
        """Calls the function once and waits for its result."""
        result = self._invoker.invoke(self._schedule.function, self._event())
        self._on_result(result)
        return result

    def _tick(self) -> None:
        while not self._stopped.wait(self._schedule.rate_seconds):
            threading.Thread(target=self.fire_now, name="scheduled call", daemon=True).start()

    def _event(self) -> Mapping[str, Any]:
        """The schedule's own payload, or what EventBridge Scheduler sends without one (its `detail` is indeed a text)."""
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
