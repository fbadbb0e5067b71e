"""Stops a piece of work right before its n-th call to the store, a queue or a chat platform, or right before it returns."""

import threading
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

from shared.domain.commands import parse_command
from shared.ports.platforms import Platform, Platforms
from shared.ports.queue import Fetch, InboxEvent, Kickoff, Ready, WakeUp
from shared.ports.queue_text import message_of, run_of
from shared.store.bundle import Store

PROCESS, TURN, AGENT, WEBHOOK = "ProcessFunction", "TurnFunction", "AgentFunction", "WebhookFunction"
WATCHED = (PROCESS, TURN, AGENT, WEBHOOK)
"""The kinds of work, named as the functions that do it on AWS."""
OTHER = "other"
"""The subject of commands and notices, and of runs whose turn is settled."""
EFFECTS = ("open_thread", "find_thread", "send", "find_message", "edit", "fetch_file")


@dataclass(frozen=True)
class Plan:
    """Stop `function` before its call number `at` (from 0), in run number `run` on a subject, or in every run."""

    function: str
    at: int
    run: int | None = 0


@dataclass
class Run:
    """One run of a function on one subject: the calls so far, and the plan to stop it."""

    subject: str
    calls: list[str]
    plan: Plan | None


@dataclass
class Invocation:
    """One invocation of a function with its runs (one per record of a batch). If one is killed, all are."""

    function: str
    runs: list[Run] = field(default_factory=list)
    killed: bool = False


class KillPoints(ABC):
    """Counts the calls of each run and stops it where its plan says so. Each engine has its own way to watch and to die.

    A run is identified by its subject: a handoff's id, the route of the place that is answered, or a text in a webhook.
    Each run has a thread. Calls of other threads do not count: the heartbeat's decide nothing that the commit does not
    check.
    """

    sends: ClassVar[str]
    """The name of the call that puts a message into the queue of places."""
    alone: Sequence[str] = ()
    """The functions that take other work with them when they are killed."""

    def __init__(self) -> None:
        self._plans: dict[str, list[Plan]] = defaultdict(list)
        self._current: ContextVar[tuple[Invocation, Run] | None] = ContextVar("current", default=None)
        self._lock = threading.Lock()
        self.runs: dict[tuple[str, str], list[list[str]]] = defaultdict(list)
        self.killed: dict[str, str] = {}

    @abstractmethod
    def die(self) -> NoReturn:
        """End the work of this thread without anything that would clean up."""

    def plan(self, subject: str, plan: Plan) -> None:
        """Add a plan, in force from the subject's next run."""
        with self._lock:
            self._plans[subject].append(plan)

    def clear(self, subject: str) -> None:
        """Remove the subject's plans."""
        with self._lock:
            self._plans.pop(subject, None)

    def forget(self, subject: str) -> None:
        """Count the subject's runs from now on: a chat without threads is the subject of one case after the other."""
        with self._lock:
            self._plans.pop(subject, None)
            self.killed.pop(subject, None)
            for key in [key for key in self.runs if key[0] == subject]:
                self.runs[key] = []

    def is_repeated(self, subject: str, function: str, /) -> bool:
        """Whether a run has returned after the one that was killed."""
        with self._lock:
            ended = [calls[-1:] == ["return"] for calls in self.runs[subject, function]]
        return False in ended and True in ended[ended.index(False) :]

    @property
    def current(self) -> tuple[Invocation, Run] | None:
        """The run that this thread works on, or that a route in a thread of its own belongs to."""
        return self._current.get()

    def begin(self, invocation: Invocation, subject: str) -> None:
        """From now on the calls of this thread are those of a new run."""
        with self._lock:
            runs = self.runs[subject, invocation.function]
            matching = (
                plan
                for plan in self._plans.get(subject, ())
                if plan.function == invocation.function and plan.run in (None, len(runs))
            )
            run = Run(subject, [], next(matching, None))
            runs.append(run.calls)
            invocation.runs.append(run)
        self._current.set((invocation, run))

    def end(self) -> None:
        """From now on the calls of this thread count for no run."""
        self._current.set(None)

    def planned_in(self, text: str) -> str:
        """The subject that the text of a webhook contains, if there is a plan for one."""
        with self._lock:
            return next((subject for subject in self._plans if subject in text), "webhook")

    def called(self, name: str) -> None:
        """A call that this thread is about to make."""
        if self.current is not None:
            self.point(*self.current, name)

    def point(self, invocation: Invocation, run: Run, name: str) -> None:
        """Die here, or go on."""
        if run.plan is not None and run.plan.at == len(run.calls):
            invocation.killed = True
            self.killed.setdefault(run.subject, name)
        if invocation.killed:
            self.die()
        run.calls.append(name)


def answered_by(store: Store, body: str) -> str:
    """The subject of a turn message. The wake-up after a kickoff belongs to the handoff."""
    match message_of(body):
        case Kickoff(handoff_id=handoff_id):
            return handoff_id
        case WakeUp(place, session_id):
            session = store.sessions.get(session_id)
            return (session.active_handoff if session else None) or place.route
        case InboxEvent(place, event_id):
            row = store.inbox.get(place, event_id)
            return OTHER if row is not None and parse_command(row.text) else place.route
        case Ready(place):
            return files_of(place.route)
    return OTHER


def files_of(route: str) -> str:
    """The subject of the work that reads the files of a place, and that waits for them."""
    return f"files of {route}"


def executed_by(store: Store, body: str) -> str:
    """The subject of a run: what its turn answers."""
    run = run_of(body)
    if isinstance(run, Fetch):
        return files_of(run.place.route)
    offer = store.turns.get(run.session_id, run.turn_id)
    return OTHER if offer is None else offer.handoff_id or offer.place.route


class WatchedPlatforms:
    """Platforms whose calls with an effect are points as well."""

    def __init__(self, platforms: Platforms, called: Callable[[str], None]) -> None:
        self._platforms, self._called = platforms, called

    def __getattr__(self, name: str) -> Any:
        return getattr(self._platforms, name)

    def get(self, name: str) -> "_Watched":
        return _Watched(self._platforms.get(name), self._called)


class _Watched:
    def __init__(self, platform: Platform, called: Callable[[str], None]) -> None:
        self._platform, self._called = platform, called

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._platform, name)
        if name not in EFFECTS:
            return real

        def call(*arguments: Any, **options: Any) -> Any:
            self._called(f"{self._platform.name}.{name}")
            return real(*arguments, **options)

        return call
