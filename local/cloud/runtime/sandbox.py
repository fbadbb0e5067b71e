"""The state of one event and of one execution environment. The pool's lock guards both."""

import threading
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from local.cloud.invoke import Result, failed
from local.cloud.runtime.api import Event
from local.cloud.runtime.process import FunctionProcess


class Invocation:
    """One event from its arrival to its result."""

    def __init__(self, body: bytes) -> None:
        self.id = str(uuid4())
        self.body = body
        self.sandbox: Sandbox | None = None
        self.deadline = 0.0  # on the monotonic clock, set when a process takes the event
        self.result: Result | None = None

    def taken_by(self, sandbox: "Sandbox", *, seconds: float, function_arn: str) -> Event:
        """Start the function's time limit; waiting for a process and its start do not count."""
        self.sandbox = sandbox
        self.deadline = time.monotonic() + seconds
        return Event(self.id, self.body, int((time.time() + seconds) * 1000), function_arn)

    @property
    def settled(self) -> bool:
        """Whether a process took the event, or it has a result without one."""
        return self.sandbox is not None or self.result is not None


class Sandbox:
    """One execution environment: its process and the event that it runs."""

    def __init__(self) -> None:
        self.process: FunctionProcess | None = None
        self.running: Invocation | None = None
        self.init_error: Mapping[str, Any] | None = None
        self.announced = False  # `on_phase` has returned for "started"
        self.ready = False  # has asked for its first event
        self.retiring = False  # killed because it was idle, not exited yet
        self.exited = False
        self._init_timer: threading.Timer | None = None

    def limit_init(self, seconds: float) -> None:
        """Kill the process if it is not ready by then."""
        if not self.ready and not self.exited:
            self._init_timer = threading.Timer(seconds, self._init_timed_out, [seconds])
            self._init_timer.daemon = True
            self._init_timer.start()

    def end_init(self) -> None:
        """Cancel the limit. May be called again."""
        if self._init_timer is not None:
            self._init_timer.cancel()

    def _init_timed_out(self, seconds: float) -> None:
        self.init_error = init_timed_out(seconds)
        if self.process is not None:
            self.process.kill()


def init_timed_out(seconds: float) -> Mapping[str, Any]:
    message = f"The function's module was not loaded within {seconds:g} seconds"
    return {"errorType": "Sandbox.InitTimedout", "errorMessage": message}


def exit_error(status: int, request_id: str) -> Result:
    """Return Lambda's error for a process that ended during an event."""
    how = f"signal: {-status}" if status < 0 else f"exit status {status}"
    return failed("Runtime.ExitError", f"RequestId: {request_id} Error: Runtime exited with error: {how}", request_id)
