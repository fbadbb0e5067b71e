"""The processes of one function: how they start, how many are kept, how they end."""

import threading
from collections.abc import Callable

from local.cloud.invoke import Result, failed
from local.cloud.runtime.nursery import EndedInInit
from local.cloud.runtime.process import FunctionProcess
from local.cloud.runtime.sandbox import Sandbox, exit_error, init_timed_out

Launch = Callable[[Sandbox, Callable[[int], None]], FunctionProcess]
Tell = Callable[[str, int], None]
Lost = Callable[[Sandbox, int, Result | None], None]

FALSE_STARTS = 3  # processes that die before their first `next`, saying nothing, until that is taken for an answer


class Crew:
    """Guarded by `changed`, the pool's own lock. `on_lost(sandbox, status, verdict)` is called under it for each process
    that ended or could not be started; a verdict says that the next one will not do better.
    """

    def __init__(
        self,
        changed: threading.Condition,
        launch: Launch,
        *,
        limit: int,
        init_seconds: float,
        tell: Tell,
        on_lost: Lost,
        on_room: Callable[[], None],
    ) -> None:
        self._changed = changed
        self._launch = launch
        self._limit = limit
        self._init_seconds = init_seconds
        self._tell = tell
        self._on_lost = on_lost
        self._on_room = on_room
        self._false_starts = 0
        self._start_failed = False
        self._kept = 0
        self._closed = threading.Event()
        self.members: list[Sandbox] = []

    @property
    def ready(self) -> int:
        return sum(one.ready for one in self.members)

    @property
    def coming(self) -> int:
        """How many will ask for their next event without anybody's doing."""
        return sum(one.running is None and not one.leaving for one in self.members)

    def keep(self, count: int) -> None:
        """From now on a process that dies after a good start is replaced, if fewer than `count` are left."""
        self._kept = count

    def prepare(self, count: int) -> None:
        """Starts processes until there are `count`, or until it is clear that they will not start."""
        while self.start(lambda: len(self.members) < count):
            pass

    def wait_ready(self, count: int, seconds: float) -> bool:
        """Waits until so many processes are ready; False if that took too long or their init failed."""
        wanted = min(count, self._limit)
        with self._changed:
            self._changed.wait_for(lambda: self.ready >= wanted or self._start_failed, seconds)
            return self.ready >= wanted

    def pids(self) -> tuple[int, ...]:
        with self._changed:
            return tuple(one.process.pid for one in self.members if one.process)

    def kill(self, pid: int | None = None) -> tuple[int, ...]:
        """Ends one process or all of them with SIGKILL; returns which, when they are dead."""
        with self._changed:
            found = [one.process for one in self.members if one.process and pid in (None, one.process.pid)]
        for process in found:
            process.kill()
        for process in found:
            process.wait_dead(5)
        return tuple(process.pid for process in found)

    def close(self) -> None:
        """Starts nothing any more and ends everything; returns when all is gone."""
        with self._changed:
            self._closed.set()
            processes = [one.process for one in self.members if one.process]
        for process in processes:
            process.kill()
        for process in processes:
            process.join(5)

    def start(self, wanted: Callable[[], bool]) -> bool:
        """Starts one process if it is wanted, which is asked under the lock; False: another try would be in vain."""
        sandbox = Sandbox()
        with self._changed:
            if self._closed.is_set() or len(self.members) >= self._limit or not wanted():
                return False
            self.members.append(sandbox)
        try:
            process = self._launch(sandbox, lambda status: self._exited(sandbox, status))
        except EndedInInit as end:
            sandbox.init_error = init_timed_out(self._init_seconds) if end.too_long else None
            verdict = self._verdict(sandbox, end.status)
            self._lost(sandbox, end.status, verdict)
            self._on_room()
            return verdict is None
        except Exception as error:  # noqa: BLE001 - whatever kept it from starting is what the callers must hear
            self._lost(sandbox, 0, failed("Runtime.StartFailed", f"{type(error).__name__}: {error}", ""))
            return False
        with self._changed:
            sandbox.process = process
            self._changed.notify_all()
            if self._closed.is_set():
                process.kill()
            sandbox.limit_init(self._init_seconds)
        self.tell("started", sandbox)
        with self._changed:
            sandbox.told = True
            self._changed.notify_all()
        return True

    def dismiss(self, sandbox: Sandbox) -> bool:
        """Lets an idle process go, unless it is one of those that are kept (one at least). Under the lock."""
        staying = sum(not one.leaving for one in self.members)
        if staying > max(1, self._kept) and sandbox.process is not None:
            sandbox.leaving = True
            sandbox.process.kill()
        return sandbox.leaving

    def note_ready(self, sandbox: Sandbox) -> None:
        """The process asked for its first event."""
        with self._changed:
            self._changed.wait_for(lambda: sandbox.told or sandbox.gone)
            sandbox.ready, self._false_starts, self._start_failed = True, 0, False
            sandbox.end_init()
            self._changed.notify_all()
        self.tell("ready", sandbox)

    def tell(self, phase: str, sandbox: Sandbox) -> None:
        with self._changed:
            self._changed.wait_for(lambda: sandbox.process is not None or sandbox.gone)
            pid = sandbox.process.pid if sandbox.process else 0
        self._tell(phase, pid)

    def _exited(self, sandbox: Sandbox, status: int) -> None:
        self.tell("gone", sandbox)
        self._lost(sandbox, status, None if sandbox.ready else self._verdict(sandbox, status))
        if sandbox.ready:
            self.start(lambda: len(self.members) < self._kept)
        self._on_room()

    def _lost(self, sandbox: Sandbox, status: int, verdict: Result | None) -> None:
        with self._changed:
            self.members.remove(sandbox)
            sandbox.gone = True
            sandbox.end_init()
            self._start_failed = self._start_failed or verdict is not None
            self._on_lost(sandbox, status, verdict)
            self._changed.notify_all()

    def _verdict(self, sandbox: Sandbox, status: int) -> Result | None:
        """A reported init error will not go away by itself; a silent death (somebody's SIGKILL) gets another try."""
        if sandbox.init_error is not None:
            return Result(error=sandbox.init_error)
        with self._changed:
            self._false_starts = (self._false_starts + 1) % FALSE_STARTS
            return None if self._false_starts else exit_error(status, "")
