"""Context of a command: arguments, terminal, environment, clock and a client of the service."""

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


@dataclass(frozen=True)
class Context:
    """One run of the program. No other module reads the environment or the clock."""

    args: Namespace
    terminal: Terminal
    environ: Mapping[str, str]
    directory: Path
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    @property
    def prog(self) -> str:
        """The name under which the program was started, for commands that users copy."""
        return self.environ.get("HANDOFF_PROG") or "handoff"

    def configuration(self) -> Configuration:
        """The configured service. Raises UsageProblem if there is none."""
        return load(
            url=getattr(self.args, "url", None),
            token=getattr(self.args, "token", None),
            environ=self.environ,
            directory=self.directory,
            insecure=bool(getattr(self.args, "insecure", False)),
        )

    def service(self) -> "Service":
        """A client of the configured service; use it in a `with`."""
        from handoff_cli.api.client import Service  # noqa: PLC0415 - commands without the service do without httpx
        from handoff_cli.api.transport import READ_SECONDS  # noqa: PLC0415 - see above

        seconds = getattr(self.args, "timeout", None) or READ_SECONDS
        return Service(self.configuration(), sleep=self.sleep, read_seconds=max(1.0, min(seconds, READ_SECONDS)))
