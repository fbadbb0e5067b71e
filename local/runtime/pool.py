"""The processes of one function: events wait in one line, free processes take the next, the pool grows when all are busy."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from local.invoke import Result, failed, function_arn, timed_out
from local.runtime.api import Event
from local.runtime.process import FunctionProcess
from local.runtime.sandbox import Invocation, Sandbox, exit_error
from local.stack import FunctionConfig

Launch = Callable[[Sandbox, Callable[[int], None]], FunctionProcess]
OnPhase = Callable[[str, str, int], None]

PATIENCE = 0.02  # how long an event waits for a busy process before another one is started: most answers are quicker
FALSE_STARTS = 3  # processes that die before their first `next`, saying nothing, until the waiting events are failed


class Pool:
    """Every event gets a result: from its process, its time-out, its process's death, or the failure to start one."""

    def __init__(
        self, config: FunctionConfig, launch: Launch, *, limit: int, init_seconds: float, on_phase: OnPhase
    ) -> None:
        self._config = config
        self._arn = function_arn(config)
        self._launch = launch
        self._limit = limit
        self._init_seconds = init_seconds
        self._on_phase = on_phase
        self._changed = threading.Condition()
        self._waiting: deque[Invocation] = deque()
        self._sandboxes: list[Sandbox] = []
        self._false_starts = 0
        self._warm = 0
        self._closed = threading.Event()

    def invoke(self, body: bytes) -> Result:
        """Runs one event to its end; blocks for as long as that takes."""
        invocation = Invocation(body)
        with self._changed:
            if self._closed.is_set():
                return failed("Runtime.Closed", "The local runtime has stopped.", invocation.id)
            self._waiting.append(invocation)
            self._changed.notify_all()
            self._changed.wait_for(lambda: invocation.settled, PATIENCE if self._sandboxes else 0)
        self._grow()
        with self._changed:
            self._changed.wait_for(lambda: invocation.settled)
            self._changed.wait_for(lambda: invocation.result is not None, invocation.deadline - time.monotonic())
            if invocation.result is None:
                self._stop_late(invocation)
            return invocation.result or timed_out(self._config.timeout, invocation.id)

    def prepare(self, count: int) -> None:
        """Starts processes until there are `count`, and replaces those of them that die after a good start."""
        self._warm = min(count, self._limit)
        while self._start(self._warm):
            pass

    def wait_ready(self, seconds: float) -> bool:
        """Waits until no process is in its init any more; False if that took too long or some of them failed."""
        with self._changed:
            self._changed.wait_for(lambda: all(one.ready for one in self._sandboxes), seconds)
            return sum(one.ready for one in self._sandboxes) >= self._warm

    def pids(self) -> tuple[int, ...]:
        with self._changed:
            return tuple(one.process.pid for one in self._sandboxes if one.process and not one.gone)

    def kill(self, pid: int | None = None) -> tuple[int, ...]:
        """Sends SIGKILL to one process or to all; returns whom it was sent to."""
        with self._changed:
            found = [one.process for one in self._sandboxes if one.process and pid in (None, one.process.pid)]
            for process in found:
                process.kill()
            return tuple(process.pid for process in found)

    def close(self) -> None:
        """Refuses new events, fails the waiting ones and kills all processes; returns when they are gone."""
        with self._changed:
            self._closed.set()
            self._fail_waiting(failed("Runtime.Closed", "The local runtime has stopped.", ""))
            processes = [one.process for one in self._sandboxes if one.process]
        for process in processes:
            process.kill()
        for process in processes:
            process.join(5)

    # Called by the processes, through their sandboxes.

    def next_event(self, sandbox: Sandbox, *, alive: Callable[[], bool]) -> Event | None:
        with self._changed:
            first, sandbox.ready, self._false_starts = not sandbox.ready, True, 0
            sandbox.end_init()
            self._changed.notify_all()
        if first:
            self._tell("ready", sandbox)
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or sandbox.gone or self._closed.is_set())
            if sandbox.gone or self._closed.is_set() or not alive():
                return None
            sandbox.running = self._waiting.popleft()
            event = sandbox.running.taken_by(sandbox, seconds=self._config.timeout, function_arn=self._arn)
            self._changed.notify_all()
        self._tell("taken", sandbox)
        return event

    def finish(self, sandbox: Sandbox, event_id: str, result: Result) -> bool:
        """An answer that arrived counts, even if its process dies right behind it."""
        with self._changed:
            running = sandbox.running
            if running is None or running.id != event_id:
                return False
            sandbox.running = None
        self._tell("answered", sandbox)
        with self._changed:
            running.result = running.result or result
            self._changed.notify_all()
        return True

    def _exited(self, sandbox: Sandbox, status: int) -> None:
        self._tell("gone", sandbox)
        with self._changed:
            self._sandboxes.remove(sandbox)
            sandbox.gone = True
            sandbox.end_init()
            if sandbox.running is not None:
                sandbox.running.result = exit_error(status, sandbox.running.id)
            if not sandbox.ready:
                self._note_false_start(sandbox, status)
            replaceable = sandbox.ready and not self._closed.is_set()
            self._changed.notify_all()
        if replaceable:
            self._start(self._warm)
        self._grow()

    def _note_false_start(self, sandbox: Sandbox, status: int) -> None:
        """A reported init error will not go away by itself; a silent death (somebody's SIGKILL) gets another try."""
        self._false_starts += 1
        if sandbox.init_error is not None:
            self._fail_waiting(Result(error=sandbox.init_error))
        elif self._false_starts >= FALSE_STARTS:
            self._false_starts = 0
            self._fail_waiting(exit_error(status, ""))

    def _fail_waiting(self, result: Result) -> None:
        """Nobody waits for a process that will not come; with other processes alive, they will take the events."""
        if self._closed.is_set() or not any(one.ready for one in self._sandboxes):
            while self._waiting:
                invocation = self._waiting.popleft()
                invocation.result = replace(result, request_id=invocation.id)
            self._changed.notify_all()

    def _grow(self) -> None:
        """Starts one more process if more events wait than processes are on their way to take them."""
        with self._changed:
            coming = sum(1 for one in self._sandboxes if one.running is None)
            wanted = len(self._sandboxes) + 1 if len(self._waiting) > coming else 0
        self._start(min(wanted, self._limit))

    def _start(self, count: int) -> bool:
        """Starts one process unless there are `count` already."""
        sandbox = Sandbox(self)
        with self._changed:
            if self._closed.is_set() or len(self._sandboxes) >= count:
                return False
            self._sandboxes.append(sandbox)
        try:
            process = self._launch(sandbox, lambda status: self._exited(sandbox, status))
        except Exception as error:  # noqa: BLE001 - whatever kept it from starting is what the callers must hear
            with self._changed:
                self._sandboxes.remove(sandbox)
                self._fail_waiting(failed("Runtime.StartFailed", f"{type(error).__name__}: {error}", ""))
            return False
        with self._changed:
            sandbox.process = process
            self._changed.notify_all()
            if self._closed.is_set():
                process.kill()
            sandbox.limit_init(self._init_seconds)
        self._tell("started", sandbox)
        return True

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

    def _tell(self, phase: str, sandbox: Sandbox) -> None:
        with self._changed:
            self._changed.wait_for(lambda: sandbox.process is not None or sandbox.gone)
            pid = sandbox.process.pid if sandbox.process else 0
        self._on_phase(self._config.logical_id, phase, pid)
