"""What every command is given: the arguments, the terminal, and a way to the service."""

import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from handoff_cli.config.sources import Configuration, load
from handoff_cli.ui.terminal import Terminal

if TYPE_CHECKING:
    from handoff_cli.api.client import Service
    from handoff_cli.handoff.follow import Follower


@dataclass(frozen=True)
class Context:
    """One run of the program. Nothing else reads the environment or the clock."""

    args: Namespace
    terminal: Terminal
    environ: Mapping[str, str]
    directory: Path
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    @property
    def prog(self) -> str:
        """How the person calls this program, for lines to copy."""
        return self.environ.get("HANDOFF_PROG") or "handoff"

    def configuration(self) -> Configuration:
        """The service in force. Raises UsageProblem if none is configured."""
        return load(
            url=getattr(self.args, "url", None),
            token=getattr(self.args, "token", None),
            environ=self.environ,
            directory=self.directory,
        )

    def service(self) -> "Service":
        """A client of the service in force; use it in a `with`."""
        from handoff_cli.api.client import Service  # noqa: PLC0415 - `--help` must not pay for httpx
        from handoff_cli.api.transport import READ_SECONDS  # noqa: PLC0415 - see above

        seconds = getattr(self.args, "timeout", None) or READ_SECONDS
        return Service(self.configuration(), sleep=self.sleep, read_seconds=max(1.0, min(seconds, READ_SECONDS)))

    def follower(self, service: "Service") -> "Follower":
        """Waits for handoffs on that service."""
        from handoff_cli.handoff.follow import Follower  # noqa: PLC0415 - see above

        return Follower(service, self.terminal, self.prog, clock=self.clock, sleep=self.sleep)
