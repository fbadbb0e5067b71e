"""The events and the processes of one function: free processes take waiting events; others are started as needed."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from local.cloud.invoke import Result, answered, failed, function_arn, timed_out
from local.cloud.runtime.api import Event, Runtime
from local.cloud.runtime.fork_server import EndedInInit
from local.cloud.runtime.process import FunctionProcess
from local.cloud.runtime.sandbox import Invocation, Sandbox, exit_error, init_timed_out
from local.cloud.stack import FunctionConfig

Launch = Callable[[Runtime, Callable[[int], None]], FunctionProcess]
OnPhase = Callable[[str, str, int], None]  # function, phase, pid

FAILED_STARTS = 3  # processes that exit without an error before their first event, until waiting events fail
STOPPED = failed("Runtime.Closed", "The local runtime has stopped.", "")


class Pool:
    """Every event gets a result: from its process, by its time-out, by the exit of its process, or by a failed start."""

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
        self._launch = launch
        self._limit = limit
        self._init_seconds = init_seconds
        self._idle_seconds = idle_seconds
        self._on_phase = on_phase
        self._changed = threading.Condition()
        self._waiting: deque[Invocation] = deque()
        self._sandboxes: list[Sandbox] = []
        self._kept = 0
        self._failed_starts = 0
        self._start_failed = False
        self._closed = threading.Event()

    def invoke(self, body: bytes) -> Result:
        """Run one event; block until it has a result."""
        invocation = Invocation(body)
        with self._changed:
            if self._closed.is_set():
                return replace(STOPPED, request_id=invocation.id)
            self._waiting.append(invocation)
            self._changed.notify_all()
        self._grow()
        with self._changed:
            self._changed.wait_for(lambda: invocation.settled)
            self._changed.wait_for(lambda: invocation.result is not None, invocation.deadline - time.monotonic())
            if invocation.result is None:
                self._time_out(invocation)
            return invocation.result or timed_out(self._config.timeout, invocation.id)

    def keep(self, count: int) -> None:
        """From now on, keep so many processes when they are idle, and replace one that exits after a successful start."""
        self._kept = count

    def prepare(self, count: int) -> None:
        """Start processes until there are `count`, or until a start fails."""
        while self._start(lambda: len(self._sandboxes) < count):
            pass

    def wait_ready(self, count: int, seconds: float) -> bool:
        """Wait until so many processes are ready; return False after `seconds` or if a start failed."""
        wanted = min(count, self._limit)
        with self._changed:
            self._changed.wait_for(lambda: self._ready >= wanted or self._start_failed, seconds)
            return self._ready >= wanted

    def pids(self) -> tuple[int, ...]:
        with self._changed:
            return tuple(one.process.pid for one in self._sandboxes if one.process)

    def kill(self, pid: int | None = None) -> tuple[int, ...]:
        """Send SIGKILL to one process or to all; return the pids when they are dead."""
        with self._changed:
            found = [one.process for one in self._sandboxes if one.process and pid in (None, one.process.pid)]
        for process in found:
            process.kill()
        for process in found:
            process.wait_dead(5)
        return tuple(process.pid for process in found)

    def close(self) -> None:
        """Refuse new events, fail those that wait or run, and return when all processes have exited."""
        with self._changed:
            self._closed.set()
            self._fail_waiting(STOPPED)
            processes = [one.process for one in self._sandboxes if one.process]
        for process in processes:
            process.kill()
        for process in processes:
            process.join(5)

    def next_event(self, sandbox: Sandbox, *, alive: Callable[[], bool]) -> Event | None:
        """Block until there is an event for the process. None: there will be none, because the pool closed or it was idle."""
        if not sandbox.ready:
            self._note_ready(sandbox)
        with self._changed:
            while not self._changed.wait_for(
                lambda: self._waiting or sandbox.exited or self._closed.is_set(), self._idle_seconds
            ):
                if self._retire(sandbox):
                    return None
            if sandbox.exited or self._closed.is_set() or not alive():
                return None
            sandbox.running = self._waiting.popleft()
            event = sandbox.running.taken_by(
                sandbox, seconds=self._config.timeout, function_arn=function_arn(self._config)
            )
            self._changed.notify_all()
        self._announce("taken", sandbox)
        return event

    def finish(self, sandbox: Sandbox, event_id: str, result: Result) -> bool:
        """Store the result of an event; it counts even if the process dies right after. False: not the running event."""
        with self._changed:
            running = sandbox.running
            if running is None or running.id != event_id:
                return False
            sandbox.running = None
        self._announce("answered", sandbox)
        with self._changed:
            running.result = running.result or result
            self._changed.notify_all()
        return True

    @property
    def _ready(self) -> int:
        return sum(one.ready for one in self._sandboxes)

    def _grow(self) -> None:
        """Start a process if more events wait than processes are free or starting."""
        self._start(
            lambda: len(self._waiting) > sum(one.running is None and not one.retiring for one in self._sandboxes)
        )

    def _start(self, wanted: Callable[[], bool]) -> bool:
        """Start a process if it is wanted, which is evaluated under the lock. False: do not try again."""
        sandbox = Sandbox()
        with self._changed:
            if self._closed.is_set() or len(self._sandboxes) >= self._limit or not wanted():
                return False
            self._sandboxes.append(sandbox)
        try:
            process = self._launch(_Connection(self, sandbox), lambda status: self._exited(sandbox, status))
        except EndedInInit as end:
            sandbox.init_error = init_timed_out(self._init_seconds) if end.timed_out else None
            failure = self._start_failure(sandbox, end.status)
            self._remove(sandbox, end.status, failure)
            self._grow()
            return failure is None
        except Exception as error:  # noqa: BLE001 - becomes the result of the waiting events
            self._remove(sandbox, 0, failed("Runtime.StartFailed", f"{type(error).__name__}: {error}", ""))
            return False
        with self._changed:
            sandbox.process = process
            self._changed.notify_all()
            if self._closed.is_set():
                process.kill()
            sandbox.limit_init(self._init_seconds)
        self._announce("started", sandbox)
        with self._changed:
            sandbox.announced = True
            self._changed.notify_all()
        return True

    def _note_ready(self, sandbox: Sandbox) -> None:
        """The process asked for its first event."""
        with self._changed:
            self._changed.wait_for(lambda: sandbox.announced or sandbox.exited)
            sandbox.ready, self._failed_starts, self._start_failed = True, 0, False
            sandbox.end_init()
            self._changed.notify_all()
        self._announce("ready", sandbox)

    def _retire(self, sandbox: Sandbox) -> bool:
        """Kill an idle process unless it is one of those to keep (at least one). Needs the lock."""
        staying = sum(not one.retiring for one in self._sandboxes)
        if staying > max(1, self._kept) and sandbox.process is not None:
            sandbox.retiring = True
            sandbox.process.kill()
        return sandbox.retiring

    def _exited(self, sandbox: Sandbox, status: int) -> None:
        self._announce("exited", sandbox)
        self._remove(sandbox, status, None if sandbox.ready else self._start_failure(sandbox, status))
        if sandbox.ready:
            self._start(lambda: len(self._sandboxes) < self._kept)
        self._grow()

    def _remove(self, sandbox: Sandbox, status: int, failure: Result | None) -> None:
        """Forget a process and fail its event. With a `failure` and no other process, the waiting events fail as well."""
        with self._changed:
            self._sandboxes.remove(sandbox)
            sandbox.exited = True
            sandbox.end_init()
            self._start_failed = self._start_failed or failure is not None
            if sandbox.running is not None:
                sandbox.running.result = exit_error(status, sandbox.running.id)
            if failure is not None and not self._ready:
                self._fail_waiting(failure)
            self._changed.notify_all()

    def _start_failure(self, sandbox: Sandbox, status: int) -> Result | None:
        """Return the result for waiting events, or None to try again: a silent exit may be an external SIGKILL."""
        if sandbox.init_error is not None:
            return Result(error=sandbox.init_error)
        with self._changed:
            self._failed_starts = (self._failed_starts + 1) % FAILED_STARTS
            return None if self._failed_starts else exit_error(status, "")

    def _fail_waiting(self, result: Result) -> None:
        while self._waiting:
            invocation = self._waiting.popleft()
            invocation.result = replace(result, request_id=invocation.id)
        self._changed.notify_all()

    def _time_out(self, invocation: Invocation) -> None:
        """Kill the process of an event and wait until it has exited. Needs the lock."""
        sandbox = invocation.sandbox
        if sandbox is None:
            return
        invocation.result, sandbox.running = timed_out(self._config.timeout, invocation.id), None
        self._changed.wait_for(lambda: sandbox.process is not None or sandbox.exited)
        if sandbox.process is not None:
            sandbox.process.kill()
        self._changed.wait_for(lambda: sandbox.exited, 5)

    def _announce(self, phase: str, sandbox: Sandbox) -> None:
        """Call `on_phase` with the pid, once it is known."""
        with self._changed:
            self._changed.wait_for(lambda: sandbox.process is not None or sandbox.exited)
            pid = sandbox.process.pid if sandbox.process else 0
        self._on_phase(self._config.logical_id, phase, pid)


class _Connection:
    """Connects the Runtime API of one process with the pool."""

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
