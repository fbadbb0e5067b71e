"""One runner as its turns and agents see it: its service, its files, its clock, and whether it goes on."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from handoff_cli.errors import CliError, NotAccepted
from handoff_cli.runner.acp.process import AgentProcess
from handoff_cli.runner.clock import Clock
from handoff_cli.runner.machine.identity import Identity
from handoff_cli.runner.machine.journal import Entry, Journal
from handoff_cli.runner.machine.locks import Lock
from handoff_cli.runner.machine.orphans import end_orphan
from handoff_cli.runner.machine.sessions import HandedOver, Sessions
from handoff_cli.runner.outgoing.live import LiveTurns
from handoff_cli.runner.report import Report
from handoff_cli.runner.settings import Settings
from handoff_cli.runner.wire.service import RunnerService
from handoff_cli.runner.wire.verdicts import Answer, Verdict

_NO_ANSWER = "no-answer"


class Halt:
    """Whether the runner goes on. Once it stops, it claims nothing more and turns end in time."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        self.reason: CliError | None = None
        self._finishing = asyncio.Event()

    @property
    def claiming(self) -> bool:
        """False once it only finishes what is at work."""
        return not self._finishing.is_set()

    def stop(self) -> None:
        """The user wants it to end. Idempotent."""
        self._finishing.set()
        self.stopping.set()

    def abandon(self, reason: CliError) -> None:
        """End soon and answer nothing: the next runner goes on with the turns at work."""
        self.reason = self.reason or reason
        self.stop()

    def not_accepted(self, answer: Answer) -> None:
        """The service does not accept this runner any more: at once if it was revoked, else after the turns at work."""
        self._finishing.set()
        if answer.verdict is Verdict.TOO_OLD:
            self.reason = self.reason or NotAccepted(
                f"This runner is too old for the service ({answer.why}). Update it."
            )
            return
        self.reason = NotAccepted(
            f"The service does not accept this runner any more ({answer.why}). What it has not told is kept. "
            "With a valid token, start it again with `handoff run`."
        )
        self.stopping.set()


class Start(Protocol):
    """Starts an agent in a process group of its own. Raises OSError."""

    async def __call__(
        self, command: tuple[str, ...], *, environ: Mapping[str, str], directory: Path, lock: int
    ) -> AgentProcess: ...


Fence = Callable[[Mapping[str, str], HandedOver], AbstractContextManager[Callable[[int], None]]]
"""Keeps prompts in the terminal from a session that is brought; what it yields is called once that has left."""


@contextmanager
def no_fence(_: Mapping[str, str], __: HandedOver) -> Iterator[Callable[[int], None]]:
    """For agents without hooks."""
    yield lambda _: None


@dataclass(frozen=True)
class Runner:
    """What one runner works with."""

    identity: Identity
    url: str
    service: RunnerService
    state: Path
    journal: Journal
    sessions: Sessions
    settings: Settings
    environ: Mapping[str, str]
    report: Report
    clock: Clock = field(default_factory=Clock)
    halt: Halt = field(default_factory=Halt)
    live: LiveTurns = field(default_factory=LiveTurns)
    wall_clock: Callable[[], float] = time.time
    start: Start = AgentProcess.start
    end_orphan: Callable[[Lock, float], bool] = end_orphan
    fence: Fence = no_fence

    async def until_answered(self, what: str, entry: Entry, call: Callable[[], Awaitable[Answer]]) -> Answer:
        """Repeat a call of a turn until the service answers it."""
        failures = 0
        while True:
            answer = await call()
            self.report.log(what, turn=entry.turn_id, status=answer.status, code=answer.noted)
            if answer.verdict is not Verdict.RETRY:
                return answer
            failures += 1
            await self.back_off(failures, answer)

    async def back_off(self, failures: int, answer: Answer) -> None:
        """After so many failures in a row: tell what came in place of an answer, and wait."""
        self.report.odd(answer.odd)
        await self.clock.sleep(self.clock.pause(failures, answer.retry_after))

    def misses_service(self, answer: Answer) -> None:
        """Say once that it does not answer, and what came instead."""
        self.report.once(_NO_ANSWER, "The service does not answer. Trying again; agents at work go on.")
        self.report.odd(answer.odd)

    def hears_service(self) -> None:
        """Say that it answers again, if it did not."""
        if self.report.again(_NO_ANSWER):
            self.report.say("The service answers again.")
