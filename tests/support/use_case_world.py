"""A world for use case tests: a real store, and a fake clock, platform, agent and queue."""

# ruff: noqa: ARG002  # a fake takes what its port passes, and need not use it

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shared.domain.handoffs import Handoff
from shared.domain.messages import Message
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.ports.agents import Cancellation, Listener, TurnInput
from shared.ports.queue import Fetch, InboxEvent, RunMessage
from shared.services import Services
from shared.settings import Settings
from shared.store.bundle import Store
from shared.store.handoffs import Handoffs
from shared.store.inbox import InboxRow
from shared.use_cases.handoffs.process_handoff import process_handoff
from shared.use_cases.handoffs.request_handoff import HandoffRequest, request_handoff
from shared.use_cases.recovery.sweep import sweep
from shared.use_cases.sessions.save_session import save_session
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.run_for_agent import run_for_agent
from shared.use_cases.turns.run_turn import run_turn
from tests.support.fake_platform import FakePlatform, FakePlatforms, Idempotency
from tests.support.fake_queue import FakeDeadTurns, FakeQueue, FakeRunQueue, FakeVisibility, ManualClock, Waiting
from tests.support.memory_files import MemoryFiles

HOME = Place("chat", "home")
USER = "ada"
LEASE = 60_000
TURN_LEASE = 90_000
DEADLINE = 900_000
LIMIT = 840_000


class FakeAgent:
    """Answers with the number of messages. `next` holds what the next turns do instead.

    Cancelled before or during that, it raises AgentCancelled; `cancellations` and `models` hold what each turn was given, and
    `progress` what the last one was given.
    """

    def __init__(self) -> None:
        self.next: deque[Exception | Callable[[], str]] = deque()
        self.notes: list[str | None] = []
        self.given: list[list[Message]] = []
        self.cancellations: list[Cancellation] = []
        self.progress: Listener | None = None
        self.models: list[str | None] = []

    def reply(self, turn: TurnInput) -> str:
        self.cancellations.append(turn.cancellation)
        self.progress = turn.progress
        self.models.append(turn.model)
        turn.cancellation.check()
        self.notes.append(turn.note)
        self.given.append(list(turn.messages))
        act = self.next.popleft() if self.next else lambda: f"reply to {len(turn.messages)}"
        if isinstance(act, Exception):
            raise act
        said = act()
        turn.cancellation.check()
        return said


@dataclass
class World:
    """The services of a use case. Time passes only when a test says so."""

    store: Store
    idempotency: Idempotency = "readback"
    clock: ManualClock = field(default_factory=ManualClock)
    agent: FakeAgent = field(default_factory=FakeAgent)
    dead: FakeDeadTurns = field(default_factory=FakeDeadTurns)
    made: int = 0

    def __post_init__(self) -> None:
        self.platform = FakePlatform(self.idempotency)
        self.queue = FakeQueue(self.clock)
        self.runs = FakeRunQueue(self.clock)
        self.files = MemoryFiles()
        self.store.accounts.set_home(USER, HOME)
        self.store.accounts.add_identity(USER, "chat", "ada-there")
        self.services = Services(
            settings=Settings("handoffs", "sessions", "queue", lease=LEASE, turn_lease=TURN_LEASE, deadline=DEADLINE),
            clock=self.clock,
            store=self.store,
            queue=self.queue,
            visibility=lambda _: FakeVisibility(self.clock, Waiting(InboxEvent(HOME, ""), "")),
            dead_turns=self.dead,
            runs=self.runs,
            files=self.files,
            platforms=FakePlatforms(self.platform),
            agent=lambda: self.agent,
            agent_summary="fake: answers with a count.",
            new_id=self._new_id,
        )

    def _new_id(self) -> str:
        self.made += 1
        return f"id-{self.made}"

    def wait(self, seconds: float) -> None:
        self.clock.time += int(seconds * 1000)

    def session(self, session_id: str = "s-1", messages: Sequence[Message] = ()) -> Session:
        session, _ = save_session(self.services, USER, session_id, {"title": "Parser"})
        said = messages or [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
        return self.store.transcripts.append(session, said, now=self.clock.now())

    def ask(self, session_id: str = "s-1", *, key: str = "k", epoch: int = 0, **more: Any) -> Handoff:
        asked = HandoffRequest(session_id, "chat", epoch, **more)
        return request_handoff(self.services, USER, asked, idempotency_key=f"{key} {session_id}").handoff

    def process(self, handoff: Handoff) -> None:
        process_handoff(self.services, handoff.id)

    def sweep(self) -> int:
        return sweep(self.services)

    def turn(self) -> Waiting | None:
        """Receive and run one message of the Turns queue as the function does; it is deleted when it is done."""
        received = self.queue.receive()
        if received is None:
            return None
        budget = TurnBudget(FakeVisibility(self.clock, received), self.clock.now() + 40_000, received.tries)
        if run_turn(self.services, received.message, budget):
            self.queue.waiting.remove(received)
        return received

    def agent_run(self, *, limit: int = LIMIT) -> RunMessage | None:
        """Receive and execute one visible run, as the function does."""
        run = self.runs.receive()
        if run is not None:
            run_for_agent(self.services, run, remaining=limit)
        return run

    def agents(self, *, limit: int = LIMIT) -> int:
        """Execute the visible runs one by one until there is none; returns how many there were."""
        executed = 0
        while self.agent_run(limit=limit) is not None:
            executed += 1
        return executed

    def turns(self, *, most: int = 50) -> int:
        """Run messages and agents until nothing is left to do; time passes while all is hidden. Returns the turn runs."""
        ran = 0
        while ran <= most:
            self.agents()
            if self.turn() is not None:
                ran += 1
            elif (due := self.next_at()) is not None:
                self.clock.time = max(self.clock.time, due)
            else:
                return ran
        raise AssertionError(f"not done after {most} runs: {self.queue.waiting}, {self.runs.waiting}")

    def messages(self, *, most: int = 50) -> None:
        """Run the messages of the Turns queue that are visible now."""
        for _ in range(most):
            if self.turn() is None:
                return
        raise AssertionError(f"not done after {most} messages: {self.queue.waiting}")

    def next_at(self) -> int | None:
        """When something is due: a message, or a run whose turn is alive. The copy of an ended turn is not waited for."""
        runs = [due for run, due in self.runs.waiting if self._is_alive(run)]
        return min([*runs, *([self.queue.next_at()] if self.queue.waiting else [])], default=None)

    def _is_alive(self, run: RunMessage) -> bool:
        if isinstance(run, Fetch):
            row = self.store.inbox.get(run.place, run.event_id)
            return row is not None and row.done_by is None and row.read is None
        session = self.store.sessions.get(run.session_id)
        return session is not None and session.turn is not None and session.turn.id == run.turn_id

    def moved(self, session_id: str = "s-1", **more: Any) -> tuple[Session, Place]:
        """A session that was handed off, and its thread."""
        self.session(session_id)
        self.process(self.ask(session_id, **more))
        self.turns()
        session = self.current(session_id)
        assert not session.owner.is_cli
        return session, session.owner

    def say(self, place: Place, text: str, event_id: str) -> None:
        """A user writes at a place: what the webhook does after verification."""
        self.store.inbox.put(InboxRow(place, event_id, "ada-there", text, self.clock.now(), USER))
        self.queue.send(InboxEvent(place, event_id), dedupe=f"said {place.route} {event_id}")

    def current(self, session_id: str = "s-1") -> Session:
        session = self.store.sessions.get(session_id)
        assert session is not None
        return session

    def latest(self, handoff: Handoff) -> Handoff:
        found = self.store.handoffs.get(handoff.id)
        assert found is not None
        return found

    def transcript(self, session_id: str = "s-1") -> list[Message]:
        return list(self.store.transcripts.load(session_id))

    def with_settings(self, **changes: Any) -> None:
        self.services = replace(self.services, settings=replace(self.services.settings, **changes))


class CompetingAction(FakePlatforms):
    """Runs a competing action after a request or a message was looked up and before anything is written for it."""

    def __init__(self, world: World, others: Callable[[], object]) -> None:
        super().__init__(world.platform)
        self._others = others

    def get(self, name: str) -> FakePlatform:
        self._others()
        return super().get(name)

    def is_configured(self, name: str) -> bool:
        self._others()
        return super().is_configured(name)


def with_listed_handoffs(services: Services, newest_first: Sequence[Handoff]) -> Services:
    """Services whose store lists these handoffs, which were not written."""

    class Listed(Handoffs):
        def list(self, user_id: str, *, session_id: str | None, state: str | None, limit: int) -> Sequence[Handoff]:
            return newest_first[:limit]

    listed = Listed(services.store.handoffs._tables)
    return replace(services, store=replace(services.store, handoffs=listed))
