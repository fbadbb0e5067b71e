"""The functions of the service as actors: what starts them, and what happens to their input if they die."""

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from unittest import mock

from shared.domain.routes import Place
from shared.domain.sessions import Executor
from shared.errors import Conflict, RequestRefused
from shared.ports.inbound import WebhookRequest
from shared.ports.queue import RunMessage
from shared.ports.tables import Table
from shared.services import Services
from shared.settings import Settings
from shared.store.bundle import store_on
from shared.use_cases import retry
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.handoffs.process_handoff import process_handoff
from shared.use_cases.recovery.sweep import sweep
from shared.use_cases.runners.register import revoke_runner
from shared.use_cases.sessions.resume_session import resume_session
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.heartbeat import Beats
from shared.use_cases.turns.run_for_agent import run_for_agent
from shared.use_cases.turns.run_turn import DELIVERY_SECONDS, run_turn
from tests.support.fake_platform import FakePlatforms, Idempotency, Thread
from tests.support.fake_queue import FakeDeadTurns, FakeVisibility, ManualClock, Waiting
from tests.support.machine import Machine
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import DEADLINE, LEASE, TURN_LEASE, USER, World
from tests.walk.actors import Actor, Baton, Killed, Workers
from tests.walk.configurations import Configuration
from tests.walk.invariants import SESSION, Invariants
from tests.walk.ports import Stage, WalkAgent, WalkFiles, WalkPlatform, WalkQueue, WalkRuns, WalkTables
from tests.walk.runner import RUNNER, LocalMachine, RunnerProcess, Violation
from tests.walk.trace import Trace

THREAD = Place("chat", "home", "t1")
SECOND = 1_000
MINUTE = 60 * SECOND
LIMITS = {
    "turn": 60,
    "agent": 900,
    "sweep": 60,
    "process": 60,
    "webhook": 30,
    "terminal": 30,
    "press": 30,
    "runner": 86_400,
}
"""Seconds after which the platform kills a function, or a terminal gives up."""
TURN_VISIBILITY = 66 * SECOND
RUN_VISIBILITY = 960 * SECOND
MOST_RECEIVES = 100
MOST_RUN_RECEIVES = 5
REDELIVERY = 10 * SECOND
"""After this time a platform repeats a webhook that failed."""


@cache
def _tables_before(kickoff: bool, machine: bool, cloud_first: bool) -> MemoryTables:
    """A session in the thread, or in its terminal with a handoff that is requested; perhaps of a machine's agent."""
    tables = MemoryTables()
    world = World(store_on(tables))
    session = Machine(world, RUNNER).session(SESSION) if machine else world.session(SESSION)
    if cloud_first:
        session = world.store.machine_turns.choose(session, Executor.CLOUD, now=world.clock.now())
    if kickoff:
        world.ask(SESSION)
    else:
        world.store.moves.to_chat(session, THREAD, "https://chat.test/home/t1", now=world.clock.now())
    return tables


class Functions(Stage):
    """A service in memory. Each method that starts a function returns its actor."""

    def __init__(self, workers: Workers, config: Configuration, *, idempotency: Idempotency) -> None:
        self.configuration = config
        self.clock = ManualClock()
        self.trace = Trace(self.clock)
        self.baton = Baton(workers, self.choose)
        self.tables = WalkTables(self, _tables_before(config.kickoff, config.runners > 0, config.cloud_first))
        self.queue = WalkQueue(self, self.clock)
        self.runs = WalkRuns(self, self.clock)
        self.platform = WalkPlatform(self, idempotency)
        if config.moves:
            self.platform.threads[THREAD] = Thread("the one that it leaves", key="before")
        self.invariants = Invariants(self.tables, self.clock)
        self.machine = LocalMachine(knows=2)
        self.failure: str | None = None
        self.stream = [item["handoff_id"] for item in self.tables.all(Table.HANDOFFS)]
        """Changes of handoffs that `process` has not handled."""
        self.webhooks: list[tuple[int, str]] = []
        """Webhooks that the platform will repeat, and when."""
        self._made = 0
        self._receives: dict[RunMessage, int] = {}
        self.services = Services(
            settings=Settings("handoffs", "sessions", "queue", lease=LEASE, turn_lease=TURN_LEASE, deadline=DEADLINE),
            clock=self.clock,
            store=store_on(self.tables),
            queue=self.queue,
            visibility=mock.Mock(),
            dead_turns=FakeDeadTurns(),
            runs=self.runs,
            files=WalkFiles(self),
            platforms=FakePlatforms(self.platform),
            agent=partial(WalkAgent, self),
            agent_summary="",
            new_id=lambda: f"id-{self._next_number():04}",
        )

    @abstractmethod
    def choose(self, me: Actor | None) -> Actor | None:
        """Which actor goes on."""

    @abstractmethod
    def plan(self, actor: Actor) -> None:
        """Plan the faults of a new actor."""

    def fail(self, reason: str) -> None:
        """The first reason counts."""
        self.failure = self.failure or reason

    def webhook(self, line: str) -> Actor:
        """A message arrives; `line` is what the fake platform posts. After a failure the platform posts it again."""
        request = WebhookRequest(line.encode(), {"signature": "good"})
        event_id, _, text, *_ = line.split("|")

        def body() -> None:
            earlier = self._new_rows(event_id) if text == "/stop" else set()
            receive_message(self.services, "chat", request)
            if earlier & (self._new_rows(event_id) | self._rows_of_turn()):
                self.fail("/stop leaves what was said before it")
            self.step("returns")

        def ended(error: BaseException | None) -> None:
            if self._is_failed(error):
                self.webhooks.append((self.clock.now() + REDELIVERY, line))

        return self._start("webhook", body, ended, event_id=event_id)

    def process(self) -> Actor:
        """Handle the next change of a handoff. After a failure the stream repeats it."""
        handoff_id = self.stream.pop(0)

        def body() -> None:
            process_handoff(self.services, handoff_id)
            self.step("returns")

        def ended(error: BaseException | None) -> None:
            if self._is_failed(error):
                self.stream.append(handoff_id)

        return self._start("process", body, ended)

    def receive(self, head: Waiting) -> Actor:
        """Run a message of the Turns queue. It is deleted once it is done, and visible again otherwise."""
        head.tries += 1
        head.visible_at = self.clock.now() + TURN_VISIBILITY
        if head.tries > MOST_RECEIVES:
            self.fail(f"a loop: {head.message} becomes a dead letter")
        budget = TurnBudget(FakeVisibility(self.clock, head), self.clock.now() + DELIVERY_SECONDS * SECOND, head.tries)
        done: list[bool] = []

        def body() -> None:
            self.step("receives", head.message)
            is_done = run_turn(self.services, head.message, budget)
            self.step("returns", is_done)
            done.append(is_done)

        def ended(error: BaseException | None) -> None:
            if not self._is_failed(error, may_raise=()) and done == [True]:
                self.queue.waiting = [one for one in self.queue.waiting if one is not head]

        return self._start("turn", body, ended)

    def execute(self, run: RunMessage) -> Actor:
        """Run a turn. After a failure the run is received again, a few times."""

        def body() -> None:
            run_for_agent(self.services, run, remaining=LIMITS["agent"] * SECOND)
            self.step("returns")

        def ended(error: BaseException | None) -> None:
            if self._is_failed(error):
                self._receives[run] = self._receives.get(run, 1) + 1
                if self._receives[run] <= MOST_RUN_RECEIVES:
                    self.runs.waiting.append((run, self.clock.now() + RUN_VISIBILITY))

        return self._start("agent", body, ended)

    def sweep(self) -> Actor | None:
        """The sweep of this minute, unless it would find nothing."""
        if not self.tables.has_due(self.clock.now()):
            return None
        return self._start("sweep", partial(sweep, self.services), self._is_failed)

    def resume(self) -> Actor:
        """The terminal takes the session back, as it is now. A refusal is an answer too."""
        epoch = self.tables.look(f"SESSION#{SESSION}", "META")["epoch"]
        body = partial(resume_session, self.services, USER, SESSION, epoch=epoch)
        return self._start("terminal", body, partial(self._is_failed, may_raise=(Conflict, RequestRefused)))

    def runner(self) -> Actor:
        """A process of the runner looks for a turn. It is told why its requests are refused."""

        def body() -> None:
            actor = self.baton.current
            if actor is not None:
                RunnerProcess(self, self.machine, actor).run()

        return self._start("runner", body, self._is_failed)

    def press(self, button: str) -> Actor:
        """The person presses a button; if nothing happens, again."""
        request = WebhookRequest(f"pressed|t1|{button}|m1".encode(), {"signature": "good"})

        def ended(error: BaseException | None) -> None:
            if self._is_failed(error):
                self.press(button)

        return self._start("press", partial(receive_message, self.services, "chat", request), ended)

    def revoke(self) -> Actor:
        """The user revokes the machine; if that fails, again."""

        def ended(error: BaseException | None) -> None:
            if self._is_failed(error):
                self.revoke()

        return self._start("terminal", partial(revoke_runner, self.services, USER, RUNNER), ended)

    def sleep(self, actor: Actor, milliseconds: int) -> None:
        """An executor works for a while; in a calm walk at once."""
        until = self.clock.now() + (0 if self.configuration.calm else milliseconds)
        actor.asleep_until = max(actor.asleep_until, until)
        self.step("works")

    @abstractmethod
    def may(self, fault: str, chance: float) -> bool:
        """Use up something that may happen a few times in a walk."""

    @abstractmethod
    def pick(self, count: int) -> int:
        """A number below `count`."""

    def _start(
        self,
        kind: str,
        body: Callable[[], object],
        ended: Callable[[BaseException | None], object],
        *,
        event_id: str = "",
    ) -> Actor:
        limit = self.clock.now() + LIMITS[kind] * SECOND
        actor = Actor(f"{kind}-{self._next_number()}", kind, body, ended, limit, event_id)
        self.plan(actor)
        self.baton.start(actor)
        return actor

    def _is_failed(self, error: BaseException | None, *, may_raise: tuple[type[Exception], ...] = (Conflict,)) -> bool:
        """Whether a run ended without success. An error that it must not raise fails the walk."""
        if isinstance(error, Violation):
            self.fail(str(error))
        elif error is not None and not isinstance(error, (Killed, *may_raise)):
            self.fail(f"raised {error!r}")
        return error is not None

    def _new_rows(self, before: str) -> set[str]:
        """New rows that `/stop` closes: not those of orders."""
        rows = [item for item in self.tables.all(Table.SESSIONS) if item["pk"] == f"INBOX#{THREAD.route}"]
        new = [row for row in rows if row["status"] == "new" and not row["text"].startswith("/model")]
        return {row["sk"] for row in new if row["sk"] < before}

    def _rows_of_turn(self) -> set[str]:
        turn = self.tables.look(f"SESSION#{SESSION}", "META").get("turn", {})
        return set(self.tables.look(f"SESSION#{SESSION}", f"RT#{turn.get('id')}").get("rows", ()))

    def _next_number(self) -> int:
        self._made += 1
        return self._made


@contextmanager
def no_real_time(functions: Functions) -> Iterator[None]:
    """Conflicts are retried at once, and heartbeats beat when the walk says so. An error in the log fails the walk."""

    def register(_: Beats, beat: Callable[[], None], __: float, *, first: float | None = None) -> None:
        """All but typing, which has another time for the first beat."""
        if functions.baton.current is not None and first is None:
            functions.baton.current.beats.append(beat)

    errors = _Errors(functions)
    log = logging.getLogger("shared")
    log.addHandler(errors)
    try:
        with mock.patch.object(retry, "LONGEST_PAUSE", 0.0), mock.patch.object(Beats, "repeat", register):
            yield
    finally:
        log.removeHandler(errors)


class _Errors(logging.Handler):
    """An error in a log is an exception that a use case has caught to go on: none is expected here."""

    def __init__(self, functions: Functions) -> None:
        super().__init__(logging.ERROR)
        self._functions = functions

    def emit(self, record: logging.LogRecord) -> None:
        self._functions.fail(f"logged: {record.getMessage()} {record.exc_info}")
