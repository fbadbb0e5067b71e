"""Objects that all turns of one runner share."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from handoff_cli.errors import CliError, NotAccepted
from handoff_cli.runner.clock import Clock
from handoff_cli.runner.machine.identity import Identity
from handoff_cli.runner.machine.journal import Journal
from handoff_cli.runner.machine.sessions import Sessions
from handoff_cli.runner.report import Report
from handoff_cli.runner.settings import Settings
from handoff_cli.runner.wire.service import RunnerService
from handoff_cli.runner.wire.verdicts import Answer, Verdict


class Halt:
    """Whether the runner goes on. Once it stops, it claims nothing more and turns end in time."""

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        self.reason: CliError | None = None
        self.claiming = True

    def stop(self) -> None:
        """The user wants it to end. Idempotent."""
        self.claiming = False
        self.stopping.set()

    def abandon(self, reason: CliError) -> None:
        """End soon and answer nothing: the next runner goes on with the turns at work."""
        self.reason = self.reason or reason
        self.stop()

    def not_accepted(self, answer: Answer) -> None:
        """The service does not accept this runner any more: at once if it was revoked, else after the turns at work."""
        self.claiming = False
        detail = str(answer.body.get("detail") or answer.body.get("title") or f"HTTP {answer.status}").rstrip(".")
        if answer.verdict is Verdict.TOO_OLD:
            self.reason = self.reason or NotAccepted(f"This runner is too old for the service ({detail}). Update it.")
            return
        self.reason = NotAccepted(
            f"The service does not accept this runner any more ({detail}). What it has not told is kept. "
            "With a valid token, start it again with `handoff run`."
        )
        self.stopping.set()


@dataclass(frozen=True)
class Parts:
    """One runner: who it is, its service, its files, its clock."""

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
    wall_clock: Callable[[], float] = time.time
