"""Actors in threads of which one runs at a time: at each step the running one passes the baton to the next."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self


class Killed(BaseException):
    """The process of an actor is dead. Not an Exception: no use case may catch it."""


@dataclass
class _Worker:
    """A thread that runs one job after the other, each when its gate is opened."""

    gate: threading.Lock = field(default_factory=threading.Lock)
    job: Callable[[], None] | None = None

    def loop(self) -> None:
        while True:
            self.gate.acquire()
            if self.job is None:
                return
            self.job()


class Workers:
    """Threads that are used again, because a walk starts many short actors."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._threads: list[threading.Thread] = []

    def take(self) -> _Worker:
        if self._idle:
            return self._idle.pop()
        worker = _Worker()
        worker.gate.acquire()
        thread = threading.Thread(target=worker.loop, name="walk", daemon=True)
        thread.start()
        self._threads.append(thread)
        return worker

    def give_back(self, worker: _Worker) -> None:
        self._idle.append(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._idle:
            worker.job = None
            worker.gate.release()
        for thread in self._threads:
            thread.join(5)


@dataclass(eq=False)
class Actor:
    """One run of a function, a request or a webhook. `kind` names the function."""

    name: str
    kind: str
    body: Callable[[], object]
    ended: Callable[[BaseException | None], object]
    """Called when the body has returned (None), has raised, or was killed."""
    time_limit: int
    """When the platform kills it, in milliseconds of the walk's clock."""
    event_id: str = ""
    steps: int = 0
    fault: tuple[int, str] | None = None
    """A step and what happens there."""
    asleep_until: int = 0
    wakes_with_rival: bool = False
    """It sleeps no longer than until another actor of its kind begins."""
    is_killed: bool = False
    claim: tuple[str, int] | None = None
    """The turn and the fence that it has claimed."""
    restarts_at: tuple[str, int] | None = None
    """The turn and the fence of a dead process of this runner, whose lock it holds."""
    given: frozenset[str] = frozenset()
    """The words that the result names which it posts."""
    answered: frozenset[int] = frozenset()
    """The questions that do not block whose answers the result names."""
    beats: list[Callable[[], None]] = field(default_factory=list)


class Baton:
    """Lets one actor at a time go on. `choose` names the next one, given the running one; None stops them all."""

    def __init__(self, workers: Workers, choose: Callable[[Actor | None], Actor | None]) -> None:
        self._workers, self._choose = workers, choose
        self._gates: dict[Actor, threading.Lock] = {}
        self._main = threading.Lock()
        self._main.acquire()
        self.current: Actor | None = None

    @property
    def alive(self) -> list[Actor]:
        """The actors that have not ended, in the order of their start."""
        return list(self._gates)

    def start(self, actor: Actor) -> None:
        """Add an actor; it begins when it is chosen."""
        worker = self._workers.take()
        self._gates[actor] = worker.gate

        def job() -> None:
            error: BaseException | None = None
            try:
                if not actor.is_killed:
                    actor.body()
            except BaseException as raised:  # noqa: BLE001  # `ended` tells them apart
                error = raised
            error = error or (Killed() if actor.is_killed else None)
            del self._gates[actor]
            self._workers.give_back(worker)
            actor.ended(error)
            self._pass_to(self._choose(None))

        worker.job = job

    def run(self) -> None:
        """Let the actors run until `choose` stops them. They keep their positions."""
        chosen = self._choose(None)
        if chosen is not None:
            self._pass_to(chosen)
            self._main.acquire()

    def step(self) -> None:
        """The running actor is about to do something: others may come first. Raises Killed."""
        me = self.current
        if me is None:
            return
        chosen = self._choose(me)
        if chosen is not me:
            gate = self._gates[me]
            self._pass_to(chosen)
            gate.acquire()
        if me.is_killed:
            raise Killed

    def _pass_to(self, actor: Actor | None) -> None:
        self.current = actor
        (self._gates[actor] if actor is not None else self._main).release()
