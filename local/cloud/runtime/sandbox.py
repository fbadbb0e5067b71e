"""One event, and one execution environment that runs events: their states."""

import threading
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from local.cloud.invoke import Result, failed
from local.cloud.runtime.api import Event
from local.cloud.runtime.process import FunctionProcess


class Invocation:
    """One event from its arrival to its result; guarded by the pool's lock."""

    def __init__(self, body: bytes) -> None:
        self.id = str(uuid4())
        self.body = body
        self.sandbox: Sandbox | None = None
        self.deadline = 0.0  # of the monotonic clock, known once a process took the event
        self.result: Result | None = None

    def taken_by(self, sandbox: "Sandbox", *, seconds: float, function_arn: str) -> Event:
        """Starts the function's clock: a wait for a free process and a cold start do not count."""
        self.sandbox = sandbox
        self.deadline = time.monotonic() + seconds
        return Event(self.id, self.body, int((time.time() + seconds) * 1000), function_arn)

    @property
    def settled(self) -> bool:
        return self.sandbox is not None or self.result is not None


class Sandbox:
    """One process and what it is doing; guarded by the pool's lock."""

    def __init__(self) -> None:
        self.process: FunctionProcess | None = None
        self.running: Invocation | None = None
        self.init_error: Mapping[str, Any] | None = None
        self.told = False  # whether everybody heard of its start
        self.ready = False
        self.leaving = False  # dismissed, and not gone yet
        self.gone = False
        self.began = time.monotonic()  # its start, then the event that it runs
        self.init_seconds = 0.0
        self.served = 0
        self._init_timer: threading.Timer | None = None

    def limit_init(self, seconds: float) -> None:
        """Ends a process that is not ready by then."""
        if not self.ready and not self.gone:
            self._init_timer = threading.Timer(seconds, self._init_too_long, [seconds])
            self._init_timer.daemon = True
            self._init_timer.start()

    def end_init(self) -> None:
        """Its start is over, well or not. May be called again."""
        self.init_seconds = self.init_seconds or time.monotonic() - self.began
        if self._init_timer is not None:
            self._init_timer.cancel()

    def _init_too_long(self, seconds: float) -> None:
        self.init_error = init_timed_out(seconds)
        if self.process is not None:
            self.process.kill()


def init_timed_out(seconds: float) -> Mapping[str, Any]:
    message = f"The function's module was not loaded within {seconds:g} seconds"
    return {"errorType": "Sandbox.InitTimedout", "errorMessage": message}


def exit_error(status: int, request_id: str) -> Result:
    """What Lambda says of a process that ended in the middle of an event."""
    how = f"signal: {-status}" if status < 0 else f"exit status {status}"
    return failed("Runtime.ExitError", f"RequestId: {request_id} Error: Runtime exited with error: {how}", request_id)
