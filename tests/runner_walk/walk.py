"""A random walk of one runner: Program, Turn and Agent with agents in memory, the routes of the service, and a virtual clock.

python -m tests.runner_walk.walk SEED       prints the trace of one seed
"""

import asyncio
import io
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from handoff_cli.runner.agents import CLAUDE_CODE
from handoff_cli.runner.agents.spec import Installed
from handoff_cli.runner.clock import Clock
from handoff_cli.runner.machine.identity import Identity
from handoff_cli.runner.machine.journal import Entry, Journal
from handoff_cli.runner.machine.locks import session_lock
from handoff_cli.runner.machine.sessions import HandedOver, Sessions
from handoff_cli.runner.program import Program
from handoff_cli.runner.report import Report, open_log
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.settings import Settings
from handoff_cli.ui.terminal import Terminal
from shared.domain.orders import VOID_TEXTS
from shared.domain.sessions import Executor, RunsOn
from shared.store.bundle import store_on
from shared.use_cases.chat.dial_commands import AWAY
from shared.use_cases.runners.claim_machine_turn import begin_turn, claim_machine_turn
from shared.use_cases.runners.live_turn import TurnName
from shared.use_cases.runners.register import register_runner
from shared.use_cases.runners.take_result import MachineResult, take_result
from shared.use_cases.service_models import NO_CHOICE
from shared.use_cases.sessions.save_session import save_session
from tests.runner_walk.processes import MODELS, Kernel, NativeSessions, starter
from tests.runner_walk.service import RUNNER, LocalService, set_time
from tests.runner_walk.virtual_loop import VirtualLoop
from tests.support.machine import digest_of, post
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import USER, World

URL = "http://service.example"
SESSIONS = 3
LENGTH = 18.0
"""Seconds in which things happen."""
REST = 1800.0
"""Seconds in which everything must be answered once nothing more happens."""
AMID_ORDERS, ORDER_STEPS = 0.4, 60
"""The share of kills that wait for an order, and the steps of the loop in which most orders are done."""
ORDER_ENDS = ("Model: ", "Claude Code ended", NO_CHOICE.format("model"), AWAY.format("laptop"), *VOID_TEXTS.values())
"""What a person may be told of an order."""
_LIFE: ContextVar["Life | None"] = ContextVar("life", default=None)


class Life:
    """One process of the runner. After its death nothing that it does has an effect."""

    def __init__(self, walk: "Walk") -> None:
        self._walk, self.is_dead = walk, False
        self.tasks: set[asyncio.Task[Any]] = set()
        self.service = LocalService(walk.world, walk.random, lambda: self.is_dead)
        self.runner = Runner(
            identity=Identity(RUNNER, "laptop"),
            url=URL,
            service=cast("Any", self.service),
            state=walk.state,
            journal=_Journal(walk.state, self),
            sessions=Sessions(walk.state),
            settings=walk.settings,
            environ={"HOME": str(walk.home)},
            report=walk.report,
            clock=Clock(now=walk.now),
            start=starter(walk.kernel, lambda: self.is_dead),
            end_orphan=walk.kernel.end_orphan,
        )
        self.main = asyncio.create_task(self._run(walk.installed))

    async def _run(self, installed: Installed) -> None:
        _LIFE.set(self)
        await asyncio.create_task(Program(self.runner, [installed]).run())

    async def kill(self) -> None:
        """As SIGKILL: what its tasks still do while they are cancelled reaches nobody."""
        self.is_dead = True
        while left := [task for task in (*self.tasks, self.main) if not task.done()]:
            for task in left:
                task.cancel()
            await asyncio.sleep(0)
        self._walk.kernel.close_files(self._walk.state)


@dataclass
class Sent:
    """A file that somebody on the machine had sent: who asked when, and what they were told, if anything."""

    session_id: str
    amid_turn: bool
    told: Mapping[str, Any] = field(default_factory=dict)


class _Journal(Journal):
    """The disk, which a dead process does not write."""

    def __init__(self, state: Path, life: Life) -> None:
        super().__init__(state)
        self._life = life

    def save(self, entry: Entry) -> Entry:
        return entry if self._life.is_dead else super().save(entry)

    def drop(self, turn_id: str) -> None:
        if not self._life.is_dead:
            super().drop(turn_id)


class Walk:
    """One seed: what the user does, what dies when, and how long everything takes."""

    def __init__(self, seed: int, folder: Path) -> None:
        random.seed(seed)  # for the jitter of the runner itself
        self.random = random.Random(seed)  # noqa: S311 - a seed must lead to the same walk
        self.seed, self.home, self.state = seed, folder, folder / "state"
        self.state.mkdir(mode=0o700)
        self.world = World(store_on(MemoryTables()))
        self.directory = directory = folder / "project"
        directory.mkdir()
        self.native = NativeSessions(folder, directory)
        self.kernel = Kernel(self.random, self.native)
        self.kernel.send = self._send
        self._aside: set[asyncio.Task[None]] = set()
        self.settings = Settings(warm=self.random.choice((1, 10)), warm_sessions=self.random.choice((0, 1, 2, 2)))
        output = io.StringIO()
        self.report = Report(Terminal(output, output, io.StringIO(), environ={}), open_log(folder / "log"), lambda: "")
        self.installed = Installed(CLAUDE_CODE, ("agent",), {"HOME": str(folder)}, "2.1")
        self.offset = 0.0
        self.said: dict[str, list[str]] = {}
        self.asked: dict[str, int] = {}
        self.sent: dict[str, Sent] = {}
        self.stopped: set[str] = set()
        self.trace: list[str] = []
        self._events = 0
        self.life: Life | None = None
        self.count = self.random.randrange(SESSIONS) + 1
        for number in range(1, self.count + 1):
            self._move(f"s-{number}", f"n-{number}", directory)

    def now(self) -> float:
        return asyncio.get_running_loop().time() + self.offset

    def note(self, *what: object) -> None:
        self.trace.append(f"{asyncio.get_running_loop().time():8.2f} {' '.join(map(str, what))}")

    def _move(self, session_id: str, native_id: str, directory: Path) -> None:
        """A session of the agent that was handed over to a thread, and confirmed."""
        world = self.world
        agents = {"claude-code": "2.1"}
        register_runner(
            world.services, USER, RUNNER, name="laptop", agents=agents, version="1", protocol=1, orders=["model"]
        )
        save_session(world.services, USER, session_id, {"runs_on": RunsOn(RUNNER, "claude-code", native_id)})
        world.session(session_id)
        world.process(world.ask(session_id))
        turn = world.current(session_id).turn
        assert turn is not None
        name = TurnName(USER, RUNNER, session_id, turn.id)
        claim = claim_machine_turn(world.services, name, claim_id=f"c-{session_id}", previous_fence=None)
        name = TurnName(USER, RUNNER, session_id, turn.id, 1)
        begin_turn(world.services, name)
        given, messages = [word.id for word in claim.words], [{"role": "assistant", "content": "Here I am."}]
        take_result(world.services, name, MachineResult(digest_of(messages, given), messages, "Here I am.", given))
        world.messages()
        self.said[session_id] = []
        self.native.write(native_id, "user", "in the terminal")
        Sessions(self.state).add(HandedOver(session_id, "claude-code", native_id, str(directory), URL))

    async def run(self) -> None:
        """Raises AssertionError with the trace."""
        loop = asyncio.get_running_loop()
        loop.set_task_factory(_noted)
        self.ordered = asyncio.Event()
        self.life = Life(self)
        helpers = [asyncio.create_task(self._tick()), asyncio.create_task(self._kills())]
        while loop.time() < LENGTH:
            await asyncio.sleep(self.random.choice((0.0, 0.5, 1.0, 2.0, 4.0)))
            self._act()
        self.kernel.calm = self.life.service.calm = True
        helpers[1].cancel()
        if self.life.is_dead or self.life.main.done():
            self._begin()
        for place in {self.world.current(session_id).owner for session_id in self.said}:
            self._post(place, "/machine")
        while loop.time() < LENGTH + REST and not self._is_at_rest():  # noqa: ASYNC110 - many things bring it about
            await asyncio.sleep(5)
        await asyncio.sleep(5)
        self._check()
        self.life.runner.halt.stop()
        await asyncio.wait({self.life.main}, timeout=60)
        self._must(self.life.main.done(), "the runner does not stop")
        await asyncio.sleep(5)
        self._must(not self.kernel.live, "agents outlive the runner")
        for helper in helpers:
            helper.cancel()
        await self.life.kill()

    def _begin(self) -> None:
        self.note("a runner starts")
        calm = self.kernel.calm
        self.life = Life(self)
        self.life.service.calm = calm

    def _act(self) -> None:
        session_id = f"s-{self.random.randrange(self.count) + 1}"
        place = self.world.current(session_id).owner
        acts: list[tuple[float, Callable[[], None]]] = [
            (8, lambda: self._say(session_id)),
            (0.5, lambda: self._stop(session_id)),
            (1, lambda: self._post(place, self.random.choice(("/cloud", "/machine")))),
            (1, lambda: self._choose(session_id)),
            (3, lambda: self._foreign(session_id)),
            (1, lambda: self._send_aside(session_id)),
            (1, self._kill_agent),
            (0.2, self._sleep),
        ]
        (act,) = self.random.choices([act for _, act in acts], [weight for weight, _ in acts])
        act()

    def _post(self, place: Any, text: str) -> None:
        self._events += 1
        self.note("says", place.thread, text)
        set_time(self.world)
        post(self.world, place, f"e{self._events}", text)

    def _say(self, session_id: str) -> None:
        text = f"say n-{session_id[2:]} {len(self.said[session_id])} ."
        self.said[session_id].append(text)
        self._post(self.world.current(session_id).owner, text)

    def _stop(self, session_id: str) -> None:
        self.stopped |= set(self.said[session_id])
        self._post(self.world.current(session_id).owner, "/stop")

    def _choose(self, session_id: str) -> None:
        """An order to the machine: it is done or void, and the person is told which, once."""
        self.asked[session_id] = self.asked.get(session_id, 0) + 1
        self._post(self.world.current(session_id).owner, f"/model {self.random.choice(MODELS)}")
        self.ordered.set()

    async def _send(self, native_id: str) -> None:
        """A program of the user talks to the runner's channel: a tool of an agent, or any other, in a turn or outside."""
        life, session_id, name = self.life, f"s-{native_id[2:]}", f"plot-{len(self.sent)}.txt"
        task = asyncio.current_task()
        if life is None or life.is_dead or task is None:
            return
        life.tasks.add(task)  # what it waits for dies with the runner
        task.add_done_callback(life.tasks.discard)
        path = self.directory / name
        path.write_text(name)
        self.sent[name] = sent = Sent(session_id, self.world.current(session_id).turn is not None)
        self.note("sends", name, "of", session_id)
        sent.told = await life.runner.live.send({"path": str(path), "caption": name, "session": session_id})
        self.note("is told", name, sent.told)

    def _send_aside(self, session_id: str) -> None:
        task = asyncio.create_task(self._send(f"n-{session_id[2:]}"))
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    def _foreign(self, session_id: str) -> None:
        """Somebody speaks in the terminal, beside a process that is idle: the runner knows that a turn is over, too."""
        native_id = f"n-{session_id[2:]}"
        is_at_work = any(entry.session_id == session_id for entry in Journal(self.state).all())
        if self.world.current(session_id).turn is None and not is_at_work:
            self.note("in the terminal", native_id)
            self.native.write(native_id, "user", "in the terminal")
            self.native.write(native_id, "assistant", "heard")

    def _kill_agent(self) -> None:
        if self.kernel.live:
            process = self.random.choice(self.kernel.live)
            self.note("dies", process.pid, process.native_id)
            process.exit(-9)

    def _sleep(self) -> None:
        self.note("the machine sleeps")
        self.offset += 3600

    async def _kills(self) -> None:
        """Kill the runner between any two steps of the loop, a few times; some of them soon after an order."""
        loop = cast("VirtualLoop", asyncio.get_running_loop())
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            within = 700
            if self.random.random() < AMID_ORDERS:
                self.ordered.clear()
                await self.ordered.wait()
                within = ORDER_STEPS
            reached = asyncio.Event()
            loop.at_step = (loop.steps + self.random.randrange(1, within), reached.set)
            await reached.wait()
            assert self.life is not None
            self.note("the runner is killed")
            await self.life.kill()
            await asyncio.sleep(self.random.choice((0.0, 1.0, 30.0)))
            self._begin()

    async def _tick(self) -> None:
        """What the functions of the service do by themselves."""
        for number in range(10**6):
            await asyncio.sleep(5)
            set_time(self.world)
            self.world.agents()
            self.world.messages()
            if number % 12 == 0:
                self.world.sweep()
                self.world.messages()
            self._must(not self.kernel.broken, "; ".join(self.kernel.broken))

    def _is_at_rest(self) -> bool:
        turns = [self.world.current(session_id).turn for session_id in self.said]
        is_busy = any(process.is_prompted for process in self.kernel.live)
        return not any(turns) and not self._missing() and not is_busy and not self._orders_not_told_once()

    def _missing(self) -> list[str]:
        return [
            text
            for session_id, texts in self.said.items()
            for text in texts
            if text not in self.stopped and self._heard(session_id, text) != 1
        ]

    def _orders_not_told_once(self) -> list[str]:
        return [s for s, asked in self.asked.items() if len(self._told(s)) != asked]

    def _told(self, session_id: str) -> list[str]:
        """The answers to `/model` in the session's thread."""
        said = self.world.platform.said(self.world.current(session_id).owner)
        told = [text for text in said if text.startswith(ORDER_ENDS)]
        # The same sentence alone is the reply of a turn.
        return [text for text in told if not text.startswith("Claude Code") or text.endswith("Nothing was changed.")]

    def _heard(self, session_id: str, text: str) -> int:
        return sum(message["content"] == text for message in self.world.transcript(session_id))

    def _check(self) -> None:
        self._must(not self.kernel.broken, "; ".join(self.kernel.broken))
        if self.life is not None and self.life.main.done():
            self.life.main.result()  # the runner has ended by itself: why
        self._must(not self._missing(), f"not answered once: {self._missing()}")
        twice = [t for s, texts in self.said.items() for t in texts if self._heard(s, t) > 1]
        self._must(not twice, f"answered twice: {twice}")
        self._must(not self._orders_not_told_once(), f"orders not told once: {self.asked}")
        for name, sent in self.sent.items():
            self._check_sent(name, sent)
        live = self.kernel.live
        self._must(len(live) <= self.settings.warm_sessions, f"{len(live)} agents are open")
        for process in live:
            session = self.world.current(f"s-{process.native_id[2:]}")
            self._must(session.answers is Executor.MACHINE, f"{process.native_id} is open, but answered elsewhere")
            is_free = session_lock(self.state, "claude-code", process.native_id).is_free()
            self._must(not is_free, f"{process.native_id} is open without its lock")

    def _check_sent(self, name: str, sent: Sent) -> None:
        """Once in its own thread if it was said to be sent, else at most once; never outside a turn, or if it was refused."""
        posts = self.world.platform.posts
        places = [place for place, there in posts.items() for post in there if post.file == name]
        refused, text = str(sent.told.get("refused", "")), str(sent.told.get("text", ""))
        self._must(len(places) <= 1, f"{name} was sent twice")
        self._must(all(place == self.world.current(sent.session_id).owner for place in places), f"{name}: {places}")
        self._must(places or "was sent" not in text, f"{name} is lost: {text}")
        self._must(not places or sent.amid_turn, f"{name} was sent outside a turn")
        self._must(not places or not refused or "The turn has ended" in refused, f"{name} was sent: {refused}")

    def _must(self, holds: object, what: str) -> None:
        if not holds:
            alone = f"seed {self.seed}; alone: python -m tests.runner_walk.walk {self.seed}"
            raise AssertionError("\n".join([what, *self.trace, what, alone]))


def _noted(loop: asyncio.AbstractEventLoop, work: Any, context: Any = None) -> "asyncio.Task[Any]":
    """Tasks of a runner process belong to it."""
    task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, context=context)
    if life := _LIFE.get():
        life.tasks.add(task)
        task.add_done_callback(life.tasks.discard)
    return task


def walk(seed: int) -> Walk:
    """Walk one seed. Raises AssertionError."""
    memory = Path("/dev/shm")  # noqa: S108 - a directory of its own is made there
    folder = Path(tempfile.mkdtemp(prefix="walk-", dir=memory if memory.is_dir() else None))
    try:
        made = Walk(seed, folder)
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(made.run())
        return made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.stdout.write("\n".join(walk(int(sys.argv[1])).trace) + "\n")
