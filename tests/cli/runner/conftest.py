"""A runner in a thread of this process, with the fake agent, and the real service behind a proxy that can fail."""

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.config.sources import Configuration
from handoff_cli.runner.agents.spec import Installed
from handoff_cli.runner.clock import Clock
from handoff_cli.runner.machine.files import private_directory, state_directory
from handoff_cli.runner.machine.identity import Identity, identify
from handoff_cli.runner.machine.journal import Journal
from handoff_cli.runner.machine.sessions import HandedOver, Sessions
from handoff_cli.runner.program import Program
from handoff_cli.runner.report import Report, open_log
from handoff_cli.runner.runner import Halt, Runner
from handoff_cli.runner.settings import Settings
from handoff_cli.runner.wire.service import RunnerService
from handoff_cli.ui.terminal import Terminal
from tests.cli.runner.home_chat import Home, consent
from tests.support.fake_agents import NATIVE_ID, FakeAgents
from tests.support.fault_proxy import FaultProxy
from tests.support.runner_service import RunnerThread, ServiceOfRunner, Turn
from tests.support.service import Service
from tests.support.waiting import eventually

QUICK = Clock(
    events=0.02,
    idle=0.2,
    asking=0.05,
    retry=0.01,
    longest_retry=0.05,
    busy=0.02,
    longest_poll=0.02,
    cancel=2.0,
    stop=5.0,
)


@dataclass
class Machine:
    """A machine with a runner, as tests use it."""

    home: Path
    service: ServiceOfRunner
    proxy: FaultProxy
    agents: FakeAgents
    settings: Settings = field(default_factory=Settings)
    clock: Clock = QUICK
    agent: Installed | None = None
    environ: dict[str, str] = field(default_factory=dict)
    """Of the runner, beside what it has."""
    output: io.StringIO = field(default_factory=io.StringIO)
    halt: Halt | None = None
    failure: BaseException | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None

    @property
    def state(self) -> Path:
        return private_directory(state_directory({"HOME": str(self.home)}))

    @property
    def identity(self) -> Identity:
        return identify(self.state, "laptop")

    @property
    def sessions(self) -> Sessions:
        return Sessions(self.state)

    @property
    def journal(self) -> Journal:
        return Journal(self.state)

    @property
    def log(self) -> str:
        return (self.state / "runner.log").read_text()

    def hand_over(
        self,
        native_id: str = NATIVE_ID,
        agent: str = "claude-code",
        *,
        message: str = "",
        platform: str = "telegram",
    ) -> RunnerThread:
        """A session that this machine handed over; with a message its kickoff is left to the runner."""
        thread = self.service.add_session(agent, native_id, message, platform)
        self.sessions.add(HandedOver(thread.session_id, agent, native_id, str(self.agents.directory), self.proxy.url))
        return thread

    def say(self, *texts: str, native_id: str = NATIVE_ID, agent: str = "claude-code") -> Turn:
        """The turn of a new session in whose thread this is said."""
        return self.service.say(self.hand_over(native_id, agent), *texts)

    def start(self, *, once: bool = False) -> None:
        self._thread = threading.Thread(target=self._main, args=(once,))
        self._thread.start()

    def stop(self) -> None:
        """Stop gracefully; returns when the runner has ended."""
        if self._thread is None:
            return
        eventually(lambda: self.halt or not self._alive())
        if self._loop and self.halt and self._alive():
            self._loop.call_soon_threadsafe(self.halt.stop)
        self._thread.join(30)
        assert not self._alive()

    def answer(self, turn: Turn) -> str:
        """The reply of a turn, when it is committed."""
        eventually(lambda: turn.is_committed, within=60, show=lambda: (turn.thread.bot_texts(), self.output.getvalue()))
        return turn.reply

    def wait(self, look: Callable[[], object]) -> None:
        eventually(look, within=60, show=self.output.getvalue)

    def ended(self) -> BaseException | None:
        """How it ended without being stopped."""
        assert self._thread
        self._thread.join(60)
        assert not self._alive()
        return self.failure

    def _alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _main(self, once: bool) -> None:
        try:
            asyncio.run(self._serve(once))
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.failure = error

    async def _serve(self, once: bool) -> None:
        async with self.runner() as runner:
            self.halt, self._loop = runner.halt, asyncio.get_running_loop()
            await Program(runner, [self.agent or self.agents.agent()], once=once).run()

    @asynccontextmanager
    async def runner(self) -> AsyncIterator[Runner]:
        """What one runner of this machine works with."""
        terminal = Terminal(self.output, self.output, io.StringIO(), environ={})
        configuration = Configuration(self.proxy.url, self.service.token, "test", "test")
        async with RunnerService(configuration, self.identity.id) as service:
            yield Runner(
                identity=self.identity,
                url=self.proxy.url,
                service=service,
                state=self.state,
                journal=self.journal,
                sessions=self.sessions,
                settings=self.settings,
                environ={**self.agents.environ, "HOME": str(self.home), **self.environ},
                report=Report(terminal, open_log(self.state / "runner.log")),
                clock=self.clock,
            )


def local_runner(home: Path, clock: Clock = QUICK, **more: Any) -> Runner:
    """A runner that makes no calls."""
    state = private_directory(state_directory({"HOME": str(home)}))
    terminal = Terminal(io.StringIO(), io.StringIO(), io.StringIO(), environ={})
    identity = identify(state, "laptop")
    return Runner(
        identity=identity,
        url="http://127.0.0.1:9",
        service=RunnerService(Configuration("http://127.0.0.1:9", "", "test", "test"), identity.id),
        state=state,
        journal=Journal(state),
        sessions=Sessions(state),
        settings=Settings(),
        environ={"HOME": str(home)},
        report=Report(terminal, open_log(state / "runner.log")),
        clock=clock,
        **more,
    )


@pytest.fixture
def machine(tmp_path: Path, service: Service, proxy: FaultProxy) -> Iterator[Machine]:
    state = private_directory(state_directory({"HOME": str(tmp_path)}))
    known = ServiceOfRunner(service, proxy, identify(state, "laptop").id)
    running = Machine(tmp_path, known, proxy, FakeAgents(tmp_path))
    yield running
    running.stop()
    # A list of all machines would wait for it.
    known.user.http.delete(f"/runners/{known.runner_id}")


@pytest.fixture
def shop(machine: Machine) -> Path:
    """The directory of the project `shop`; bringing is on."""
    directory = machine.home / "shop"
    directory.mkdir()
    consent(machine, {"shop": directory})
    return directory


@pytest.fixture
def home(machine: Machine, shop: Path) -> Home:
    machine.settings = Settings(warm=0)
    machine.start()
    machine.wait(lambda: machine.proxy.calls("GET", ".*/turns"))
    return Home(machine)
