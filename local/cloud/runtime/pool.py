"""The events of one function: they wait in one line, free processes take the next, more are started where that is quicker."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from local.cloud.invoke import Result, answered, failed, function_arn, timed_out
from local.cloud.runtime.api import Event, Runtime
from local.cloud.runtime.crew import Crew
from local.cloud.runtime.pacing import Pacing
from local.cloud.runtime.process import FunctionProcess
from local.cloud.runtime.sandbox import Invocation, Sandbox, exit_error
from local.cloud.stack import FunctionConfig

Launch = Callable[[Runtime, Callable[[int], None]], FunctionProcess]
OnPhase = Callable[[str, str, int], None]


class Pool:
    """Every event gets a result: from its process, its time-out, its process's death, or the failure to start one."""

    def __init__(
        self,
        config: FunctionConfig,
        launch: Launch,
        *,
        limit: int,
        init_seconds: float,
        idle_seconds: float,
        on_phase: OnPhase,
    ) -> None:
        self._config = config
        self._idle_seconds = idle_seconds
        self._arn = function_arn(config)
        self._changed = threading.Condition()
        self._waiting: deque[Invocation] = deque()
        self._pacing = Pacing()
        self._closed = False
        self.crew = Crew(
            self._changed,
            lambda sandbox, on_exit: launch(_Line(self, sandbox), on_exit),
            limit=limit,
            init_seconds=init_seconds,
            tell=lambda phase, pid: on_phase(config.logical_id, phase, pid),
            on_lost=self._lost,
            on_room=self.grow,
        )

    def invoke(self, body: bytes) -> Result:
        """Runs one event to its end; blocks for as long as that takes."""
        invocation = Invocation(body)
        with self._changed:
            if self._closed:
                return failed("Runtime.Closed", "The local runtime has stopped.", invocation.id)
            patience = self._patience()
            self._waiting.append(invocation)
            self._changed.notify_all()
            self._changed.wait_for(lambda: invocation.settled, patience)
        self.grow()
        with self._changed:
            self._changed.wait_for(lambda: invocation.settled)
            self._changed.wait_for(lambda: invocation.result is not None, invocation.deadline - time.monotonic())
            if invocation.result is None:
                self._stop_late(invocation)
            return invocation.result or timed_out(self._config.timeout, invocation.id)

    def close(self) -> None:
        """Refuses new events, fails those that wait or run, and returns when all processes are gone."""
        with self._changed:
            self._closed = True
            self._fail_waiting(failed("Runtime.Closed", "The local runtime has stopped.", ""))
        self.crew.close()

    def grow(self) -> None:
        """Starts one more process if more events wait than processes are on their way to take them."""
        self.crew.start(lambda: len(self._waiting) > self.crew.coming)

    def next_event(self, sandbox: Sandbox, *, alive: Callable[[], bool]) -> Event | None:
        """Blocks until the process has something to do; None: it will not, also because it had nothing to do for long."""
        if not sandbox.ready:
            self.crew.note_ready(sandbox)
        with self._changed:
            while not self._changed.wait_for(lambda: self._waiting or sandbox.gone or self._closed, self._idle_seconds):
                if self.crew.dismiss(sandbox):
                    return None
            if sandbox.gone or self._closed or not alive():
                return None
            sandbox.running = self._waiting.popleft()
            sandbox.began = time.monotonic()
            event = sandbox.running.taken_by(sandbox, seconds=self._config.timeout, function_arn=self._arn)
            self._changed.notify_all()
        self.crew.tell("taken", sandbox)
        return event

    def finish(self, sandbox: Sandbox, event_id: str, result: Result) -> bool:
        """An answer that arrived counts, even if its process dies right behind it."""
        with self._changed:
            running = sandbox.running
            if running is None or running.id != event_id:
                return False
            sandbox.running = None
            self._measure(sandbox)
        self.crew.tell("answered", sandbox)
        with self._changed:
            running.result = running.result or result
            self._changed.notify_all()
        return True

    def _lost(self, sandbox: Sandbox, status: int, verdict: Result | None) -> None:
        """Its event failed with it. With a verdict nobody waits for a process that will not come, but others may be there."""
        if sandbox.running is not None:
            sandbox.running.result = exit_error(status, sandbox.running.id)
        if verdict is not None and not self.crew.ready:
            self._fail_waiting(verdict)

    def _fail_waiting(self, result: Result) -> None:
        while self._waiting:
            invocation = self._waiting.popleft()
            invocation.result = replace(result, request_id=invocation.id)
        self._changed.notify_all()

    def _stop_late(self, invocation: Invocation) -> None:
        """Kills the process of an event that is over its time, and waits until it can do no more harm."""
        sandbox = invocation.sandbox
        if sandbox is None:
            return
        invocation.result, sandbox.running = timed_out(self._config.timeout, invocation.id), None
        self._changed.wait_for(lambda: sandbox.process is not None or sandbox.gone)
        if sandbox.process is not None:
            sandbox.process.kill()
        self._changed.wait_for(lambda: sandbox.gone, 5)

    def _patience(self) -> float:
        """How long the next event should wait before it asks for a process of its own."""
        if not self.crew.members:
            return 0.0
        now = time.monotonic()
        ages = [now - one.began if one.running else 0.0 for one in self.crew.members if one.ready and not one.leaving]
        return self._pacing.patience(ahead=len(self._waiting), processes=len(ages), running_for=min(ages, default=0.0))

    def _measure(self, sandbox: Sandbox) -> None:
        seconds = time.monotonic() - sandbox.began
        if sandbox.served == 0:
            self._pacing.started_in(sandbox.init_seconds + seconds)
        else:
            self._pacing.ran_for(seconds)
        sandbox.served += 1


class _Line:
    """The Runtime API of one process, connected to the pool."""

    def __init__(self, pool: Pool, sandbox: Sandbox) -> None:
        self._pool = pool
        self._sandbox = sandbox

    def next_event(self, *, alive: Callable[[], bool]) -> Event | None:
        return self._pool.next_event(self._sandbox, alive=alive)

    def answered(self, event_id: str, body: bytes) -> bool:
        return self._pool.finish(self._sandbox, event_id, answered(body, event_id))

    def raised(self, event_id: str, error: Mapping[str, Any]) -> bool:
        return self._pool.finish(self._sandbox, event_id, Result(error=error, request_id=event_id))

    def init_failed(self, error: Mapping[str, Any]) -> None:
        self._sandbox.init_error = error
