"""Two processes on one store, interleaved at every call of the tables, in every order."""

import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from shared.errors import HandoffError
from shared.ports.tables import Tables
from shared.store.bundle import Store, store_on

PATIENCE = 60.0
Actor = Callable[[Store], Any]
Schedule = tuple[int, ...]
Case = TypeVar("Case")


@dataclass
class _Process:
    """A thread that stops before each call of the tables until it may go on."""

    may_go_on: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    has_stopped: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    is_over: bool = False
    outcome: Any = None
    calls: int = 0

    def start(self, tables: Tables, actor: Actor) -> None:
        threading.Thread(target=self._run, args=(tables, actor), daemon=True).start()
        self._wait()

    def go_on(self) -> None:
        """Let it do its next call, and what follows up to the one after that."""
        if not self.is_over:
            self.may_go_on.release()
            self._wait()

    def pause(self) -> None:
        self.has_stopped.release()
        assert self.may_go_on.acquire(timeout=PATIENCE)
        self.calls += 1

    def _wait(self) -> None:
        assert self.has_stopped.acquire(timeout=PATIENCE), "a process hangs"

    def _run(self, tables: Tables, actor: Actor) -> None:
        try:
            self.outcome = actor(store_on(cast("Tables", _Stopping(tables, self))))
        except HandoffError as error:
            self.outcome = error
        except BaseException as error:  # noqa: BLE001  # raised in the thread of the test
            self.outcome = error
        self.is_over = True
        self.has_stopped.release()


class _Stopping:
    """Tables whose every call waits for its process to go on."""

    def __init__(self, tables: Tables, process: _Process) -> None:
        self._tables, self._process = tables, process

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._process.pause()
            return getattr(self._tables, name)(*args, **kwargs)

        return call


def run(tables: Tables, actors: tuple[Actor, Actor], schedule: Schedule) -> tuple[list[Any], list[int]]:
    """Run both, each call when the schedule says; returns what each returned or the HandoffError it raised, and its calls."""
    processes = [_Process(), _Process()]
    for process, actor in zip(processes, actors, strict=True):
        process.start(tables, actor)
    for number in schedule:
        processes[number].go_on()
    for process in processes:  # one that tries again has more calls than the schedule
        while not process.is_over:
            process.go_on()
    for process in processes:
        if isinstance(process.outcome, BaseException) and not isinstance(process.outcome, HandoffError):
            raise process.outcome
    return [process.outcome for process in processes], [process.calls for process in processes]


def every_order(
    tables: Tables, case: Callable[[], Case], prepare: Callable[[Case], tuple[Actor, Actor]]
) -> Iterator[tuple[Case, Any, Any]]:
    """Run both actors of a fresh case in every order of their calls; yields the case with what came of each."""
    first = case()
    (left, right), calls = run(tables, prepare(first), (0,) * 20 + (1,) * 20)
    yield first, left, right
    for schedule in schedules(*calls):
        one = case()
        (left, right), _ = run(tables, prepare(one), schedule)
        print(f"in the order {schedule}, with the outcomes {left} and {right}")  # noqa: T201  # shown if it fails
        yield one, left, right


def schedules(first: int, second: int) -> Iterator[Schedule]:
    """Every order of so many calls of the first and of the second process."""
    for places in itertools.combinations(range(first + second), first):
        yield tuple(0 if number in places else 1 for number in range(first + second))
