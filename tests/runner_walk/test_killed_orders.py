"""A runner that is killed before and after any of its calls while it lists, brings or begins a session, also twice."""

import asyncio
import io
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest

from functions.request import order_routes
from functions.request.order_bodies import AddedBody, MadeBody, RequestBody
from functions.views import SessionView
from handoff_cli.runner.clock import Clock
from handoff_cli.runner.errands import Errands
from handoff_cli.runner.machine.identity import Identity
from handoff_cli.runner.machine.journal import Journal
from handoff_cli.runner.machine.projects import Projects, write_projects
from handoff_cli.runner.machine.sessions import Sessions
from handoff_cli.runner.order import Order
from handoff_cli.runner.report import Report, open_log
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.settings import Settings
from handoff_cli.runner.wire.verdicts import Answer
from handoff_cli.ui.terminal import Terminal
from shared.domain.orders import BEGIN, BRING, LEASE, SESSIONS, VOID_TEXTS, OrderState
from shared.store.bundle import store_on
from shared.use_cases.access import own_session
from tests.runner_walk.service import RUNNER, LocalService
from tests.runner_walk.virtual_loop import VirtualLoop
from tests.support.machine import Machine, post
from tests.support.memory_tables import MemoryTables
from tests.support.native_sessions import claude_session, claude_turn
from tests.support.use_case_world import HOME, USER, World

STEPS = {SESSIONS: 4, BRING: 8, BEGIN: 6}
"""Twice the calls of each kind: before the service has one, and after it."""
NEVER = 99
Deaths = Callable[[str], list[tuple[int, ...]]]


class Service(LocalService):
    """Its caller is dead at a step."""

    def __init__(self, world: World, dies_at: int, died: asyncio.Event) -> None:
        super().__init__(world, random.Random(0), died.is_set)  # noqa: S311 - nothing is drawn of it
        self.calm, self.step, self._dies_at, self._died = True, 0, dies_at, died

    async def _pass(self, seconds: float) -> None:
        self.step += 1
        if self.step == self._dies_at:
            self._died.set()
        await super()._pass(seconds)

    async def session(self, session_id: str) -> Answer:
        find = partial(own_session, self._services, USER, session_id)
        return await self._call(lambda: SessionView.of(find(), now=self.world.clock.now()))

    async def messages(self, session_id: str, *, after: int) -> Answer:
        return Answer(200, {"messages": self.world.transcript(session_id)[after:]})

    async def move_by_order(self, order_id: str, what: str, body: Any) -> Answer:
        shape, call = _MOVES[what]
        given = shape.model_validate(body)
        return await self._call(lambda: call(RUNNER, order_id, given, self._services, USER))


_MOVES: dict[str, tuple[Any, Callable[..., Any]]] = {
    "session": (MadeBody, order_routes.put_order_session),
    "messages": (AddedBody, order_routes.post_order_messages),
    "handoff": (RequestBody, order_routes.post_order_handoff),
}


class Laptop:
    """A machine whose runner does one order after the other, and its disk."""

    def __init__(self, folder: Path) -> None:
        self.world = World(store_on(MemoryTables()))
        self.home, self.shop = folder / "home", folder / "shop"
        self.shop.mkdir()
        self.path = claude_session(self.home, self.shop, "Repair the till", native_id="n-1")
        write_projects(self.environ, Projects({"shop": self.shop}, bring=True))
        self.machine = Machine(self.world, RUNNER, projects=("shop",))

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": ""}

    @property
    def state(self) -> Path:
        return self.home / "state"

    def live(self, kind: str, *, dies_at: int = NEVER) -> int:
        """A process does the order of this kind that waits, if there is one, or dies at a step; returns the steps."""
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(self._live(kind, dies_at))

    async def _live(self, kind: str, dies_at: int) -> int:
        died = asyncio.Event()
        service = Service(self.world, dies_at, died)
        output = io.StringIO()
        self.state.mkdir(mode=0o700, exist_ok=True)
        runner = Runner(
            identity=Identity(RUNNER, "laptop"),
            url="http://service.example",
            service=cast("Any", service),
            state=self.state,
            journal=Journal(self.state),
            sessions=Sessions(self.state),
            settings=Settings(),
            environ=self.environ,
            report=Report(
                Terminal(output, output, io.StringIO(), environ={}), open_log(self.state / "log"), lambda: ""
            ),
            clock=Clock(),
        )
        for order in [one for one in self.machine.waiting() if one.kind == kind]:
            doing = asyncio.create_task(Order(runner, order.id).run(Errands(runner, ["claude-code"]).do))
            death = asyncio.create_task(died.wait())
            await asyncio.wait({doing, death}, return_when=asyncio.FIRST_COMPLETED)
            if died.is_set():
                await self._kill(doing)
            death.cancel()
        return service.step

    async def _kill(self, doing: "asyncio.Task[bool]") -> None:
        """What the process would still write while it ends is not on the disk."""
        frozen = self.home.with_name("frozen")
        shutil.copytree(self.home, frozen)
        doing.cancel()
        with suppress(asyncio.CancelledError):
            await doing
        shutil.rmtree(self.home)
        frozen.rename(self.home)

    def ask(self, kind: str) -> None:
        """The command of the person; for `/bring` there is a list."""
        if kind == BRING:
            post(self.world, HOME, "0001", "/sessions")
            self.live(SESSIONS)
            self.world.messages()
        post(
            self.world, HOME, "0002", {SESSIONS: "/sessions", BRING: "/bring 1", BEGIN: "/new shop Build a till"}[kind]
        )

    def later(self, seconds: float = 0) -> None:
        """The next process polls: soon, or when what the last one has taken is free again."""
        is_taken = any(order.state is OrderState.TAKEN for order in self.world.store.orders.of(USER, RUNNER))
        self.world.wait(seconds or (LEASE / 1000 + 1 if is_taken else 5))
        self.machine.register()
        self.world.messages()

    def threads(self) -> list[str]:
        """The sessions that have moved into a thread, after all that was requested is done."""
        moved = list(self.world.store.handoffs.list(USER, session_id=None, state=None, limit=9))
        for handoff in moved:
            self.world.process(handoff)
        return [self.world.current(handoff.session_id).owner_name for handoff in moved]


@pytest.fixture
def laptop(tmp_path: Path) -> Laptop:
    return Laptop(tmp_path)


def once(kind: str) -> list[tuple[int, ...]]:
    return [(step,) for step in range(1, STEPS[kind] + 1)]


def twice(kind: str) -> list[tuple[int, ...]]:
    """A process that finds a session of a dead one makes one more call: where that is."""
    return list(product(range(1, STEPS[kind] + 1), range(1, STEPS[kind] + 3)))


def killed(folder: Path, kind: str, deaths: Deaths, *, seconds: float = 0) -> Iterator[tuple[Laptop, tuple[int, ...]]]:
    """A laptop of its own for each way to die, after the runner that lived."""
    for number, steps in enumerate(deaths(kind)):
        own = folder / str(number)
        own.mkdir()
        laptop = Laptop(own)
        laptop.ask(kind)
        for step in (*steps, NEVER):
            laptop.live(kind, dies_at=step)
            laptop.later(seconds)
        yield laptop, steps


in_test_and_deep = pytest.mark.parametrize("deaths", [once, pytest.param(twice, marks=pytest.mark.tier("deep"))])


@pytest.mark.parametrize("kind", STEPS)
def test_the_steps_are_all_there_are(laptop: Laptop, kind: str) -> None:
    laptop.ask(kind)
    assert laptop.live(kind) == STEPS[kind]


@in_test_and_deep
@pytest.mark.parametrize("kind", [BRING, BEGIN])
def test_killed_at_any_step_there_is_one_thread(tmp_path: Path, kind: str, deaths: Deaths) -> None:
    for laptop, steps in killed(tmp_path, kind, deaths):
        assert len(laptop.threads()) == 1, steps
        (session,) = laptop.world.store.sessions.list(USER, limit=9).sessions
        said = [message["content"] for message in laptop.world.transcript(session.id)]
        if kind == BRING:
            assert said[:2] == ["Repair the till", "Yes."], steps
        assert not [text for text in laptop.world.platform.said(HOME) if text in VOID_TEXTS.values()], steps
        assert laptop.machine.waiting() == [], steps


def test_a_session_that_went_on_in_the_terminal_while_no_runner_lived_is_whole(laptop: Laptop) -> None:
    laptop.ask(BRING)
    laptop.live(BRING, dies_at=6)  # its messages are stored
    claude_turn(laptop.path, laptop.shop, "Said at the desk")
    laptop.later()
    laptop.live(BRING)
    (session,) = laptop.world.store.sessions.list(USER, limit=9).sessions
    said = [message["content"] for message in laptop.world.transcript(session.id)]
    assert said == ["Repair the till", "Yes.", "Said at the desk", "Noted."]
    assert len(laptop.threads()) == 1


@pytest.mark.parametrize("kind", [BRING, BEGIN])
def test_killed_again_and_again_there_is_a_sentence(laptop: Laptop, kind: str) -> None:
    laptop.ask(kind)
    for _ in range(4):
        laptop.live(kind, dies_at=3)
        laptop.later()
    laptop.world.sweep()
    laptop.later(200)
    assert laptop.threads() == []
    told = [text for text in laptop.world.platform.said(HOME) if text.endswith(tuple(VOID_TEXTS.values()))]
    assert len(told) == 1, laptop.world.platform.said(HOME)


@in_test_and_deep
def test_a_list_is_shown_once_whenever_the_runner_is_killed(tmp_path: Path, deaths: Deaths) -> None:
    for laptop, steps in killed(tmp_path, SESSIONS, deaths, seconds=13):
        (told,) = laptop.world.platform.said(HOME)
        assert "Repair the till" in told or "did not answer in time" in told, steps
