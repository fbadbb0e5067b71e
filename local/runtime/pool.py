"""The processes of one function: events wait in one line, free processes take the next, the pool grows when all are busy."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from local.invoke import Result, failed, function_arn, timed_out
from local.runtime.api import Event
from local.runtime.pacing import Pacing, Starts
from local.runtime.process import FunctionProcess
from local.runtime.sandbox import Invocation, Sandbox, exit_error
from local.stack import FunctionConfig

Launch = Callable[[Sandbox, Callable[[int], None]], FunctionProcess]
OnPhase = Callable[[str, str, int], None]

FALSE_STARTS = 3  # processes that die before their first `next`, saying nothing, until the waiting events are failed


class Pool:
    """Every event gets a result: from its process, its time-out, its process's death, or the failure to start one."""

    def __init__(
        self,
        config: FunctionConfig,
        launch: Launch,
        starts: Starts,
        *,
        limit: int,
        init_seconds: float,
        on_phase: OnPhase,
    ) -> None:
        self._config = config
        self._arn = function_arn(config)
        self._launch = launch
        self._starts = starts
        self._limit = limit
        self._init_seconds = init_seconds
        self._on_phase = on_phase
        self._changed = threading.Condition()
        self._waiting: deque[Invocation] = deque()
        self._sandboxes: list[Sandbox] = []
        self._false_starts = 0
        self._init_failed = False
        self._pacing = Pacing()
        self._warm = 0
        self._closed = threading.Event()

    def invoke(self, body: bytes) -> Result:
        """Runs one event to its end; blocks for as long as that takes."""
        invocation = Invocation(body)
        with self._changed:
            if self._closed.is_set():
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

    def keep(self, count: int) -> None:
        """From now on a process that dies after a good start is replaced, if fewer than `count` are left."""
        self._warm = min(count, self._limit)

    def prepare(self, count: int) -> None:
        """Starts processes until there are `count`, however many others are starting."""
        while self._start(min(count, self._limit), urgent=True):
            pass

    def wait_ready(self, count: int, seconds: float) -> bool:
        """Waits until so many processes are ready; False if that took too long or their init failed."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready() >= count or self._init_failed, seconds)
            return self._ready() >= count

    def pids(self) -> tuple[int, ...]:
        with self._changed:
            return tuple(one.process.pid for one in self._sandboxes if one.process and not one.gone)

    def kill(self, pid: int | None = None) -> tuple[int, ...]:
        """Ends one process or all of them with SIGKILL; returns which, when they are dead."""
        with self._changed:
            found = [one.process for one in self._sandboxes if one.process and pid in (None, one.process.pid)]
        for process in found:
            process.kill()
        for process in found:
            process.wait_dead(5)
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
            if first:
                self._init_failed = False
                sandbox.end_init()
            self._changed.notify_all()
        if first:
            self._tell("ready", sandbox)
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or sandbox.gone or self._closed.is_set())
            if sandbox.gone or self._closed.is_set() or not alive():
                return None
            sandbox.running = self._waiting.popleft()
            sandbox.began = time.monotonic()
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
            self._measure(sandbox)
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
            self._start(self._warm, urgent=True)
        self.grow()

    def _note_false_start(self, sandbox: Sandbox, status: int) -> None:
        """A reported init error will not go away by itself; a silent death (somebody's SIGKILL) gets another try."""
        self._false_starts += 1
        if sandbox.init_error is not None:
            self._init_failed = True
            self._fail_waiting(Result(error=sandbox.init_error))
        elif self._false_starts >= FALSE_STARTS:
            self._false_starts, self._init_failed = 0, True
            self._fail_waiting(exit_error(status, ""))

    def _fail_waiting(self, result: Result) -> None:
        """Nobody waits for a process that will not come; with other processes alive, they will take the events."""
        if self._closed.is_set() or not self._ready():
            while self._waiting:
                invocation = self._waiting.popleft()
                invocation.result = replace(result, request_id=invocation.id)
            self._changed.notify_all()

    def _ready(self) -> int:
        return sum(one.ready for one in self._sandboxes)

    def _patience(self) -> float:
        """How long the next event should wait before it asks for a process of its own."""
        if not self._sandboxes:
            return 0.0
        now = time.monotonic()
        busy_for = min((now - one.began if one.running else 0.0 for one in self._sandboxes if one.ready), default=0.0)
        return self._pacing.patience(ahead=len(self._waiting), processes=self._ready(), running_for=busy_for)

    def _measure(self, sandbox: Sandbox) -> None:
        now = time.monotonic()
        if sandbox.served == 0:
            self._pacing.started_in(sandbox.init_seconds + now - sandbox.began)
        else:
            self._pacing.ran_for(now - sandbox.began)
        sandbox.served += 1

    def grow(self) -> None:
        """Starts one more process if more events wait than processes are on their way to take them."""
        with self._changed:
            coming = sum(1 for one in self._sandboxes if one.running is None)
            wanted = len(self._sandboxes) + 1 if len(self._waiting) > coming else 0
            urgent = not self._sandboxes
        self._start(min(wanted, self._limit), urgent=urgent)

    def _start(self, count: int, *, urgent: bool) -> bool:
        """Starts one process unless there are `count` already, or too many are starting and this is not urgent."""
        sandbox = Sandbox(self)
        with self._changed:
            if self._closed.is_set() or len(self._sandboxes) >= count:
                return False
            if not urgent and not self._starts.take():
                return False
            sandbox.on_init_end = None if urgent else self._starts.give_back
            self._sandboxes.append(sandbox)
        try:
            process = self._launch(sandbox, lambda status: self._exited(sandbox, status))
        except Exception as error:  # noqa: BLE001 - whatever kept it from starting is what the callers must hear
            with self._changed:
                sandbox.end_init()
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
