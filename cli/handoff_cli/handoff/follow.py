"""Waits for a handoff: asks as often as the service allows, shows each step once, never writes."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.errors import StillRunning, Unreachable
from handoff_cli.ui.terminal import Terminal

PICK_UP_SECONDS = 60.0
DEADLINE_SECONDS = 900.0
_AWAY_SECONDS = 60.0
_SHORTEST_PAUSE = 0.05
_PULSE_SECONDS = 0.25


@dataclass(frozen=True)
class Patience:
    """How long to wait: for the first sign that somebody works on it, and for the end."""

    pick_up: float = PICK_UP_SECONDS
    whole: float = DEADLINE_SECONDS

    @classmethod
    def of(cls, seconds: float | None) -> "Patience":
        """What `--timeout` says, or the default."""
        return cls() if seconds is None else cls(pick_up=seconds, whole=seconds)

    def is_over(self, handoff: Json, waited: float) -> bool:
        """Has the wait been long enough? More than the first step means that it was picked up."""
        return waited >= (self.whole if len(handoff.get("steps") or []) > 1 else min(self.pick_up, self.whole))


@dataclass(frozen=True)
class Follower:
    """Follows handoffs on one service."""

    service: Service
    terminal: Terminal
    prog: str
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    shown: dict[str, int] = field(default_factory=dict)

    def follow(self, handoff: Json, patience: Patience) -> Json:
        """Returns the handoff once it is done. Raises StillRunning when the patience is over."""
        began = self.clock()
        while True:
            self.show(handoff)
            if handoff["done"]:
                self.terminal.settle()
                return handoff
            if patience.is_over(handoff, self.clock() - began):
                raise StillRunning(self._still_running(handoff, self.clock() - began))
            self._pause(max(_SHORTEST_PAUSE, float(handoff.get("poll_after_ms") or 1000) / 1000), began)
            handoff = self._ask(handoff, min(patience.whole, _AWAY_SECONDS))

    def _ask(self, handoff: Json, seconds: float) -> Json:
        """A service that is away for a moment is waited for; the handoff goes on without us."""
        began = self.clock()
        while True:
            try:
                return self.service.handoff(handoff["id"])
            except Unreachable as error:
                if self.clock() - began >= seconds:
                    again = f"The handoff may have gone on; look again with: {self.prog} status {handoff['id']}"
                    raise Unreachable(f"{error} {again}") from error
            self.terminal.pulse(self.terminal.style("  … the service does not answer, trying again", "yellow"))
            self.sleep(1.0)

    def show(self, handoff: Json) -> None:
        """The steps that were not shown yet, without waiting."""
        steps = handoff.get("steps") or []
        for step in steps[self.shown.get(handoff["id"], 0) :]:
            label = str(step.get("label") or step.get("name"))
            self.terminal.say(f"  {self.terminal.style('✓', 'green')} {label:<24} {_since(steps[0], step)}")
        self.shown[handoff["id"]] = len(steps)

    def _pause(self, seconds: float, began: float) -> None:
        until = self.clock() + seconds
        for left in _countdown(until, self.clock):
            waited = self.clock() - began
            if waited >= 1:
                self.terminal.pulse(self.terminal.style(f"  … {waited:.0f} s", "dim"))
            self.sleep(min(left, _PULSE_SECONDS))

    def _still_running(self, handoff: Json, waited: float) -> str:
        picked_up = len(handoff.get("steps") or []) > 1
        how = "Still running" if picked_up else "Not picked up yet"
        return (
            f"{how} after {waited:.0f} s; it goes on without this terminal. "
            f"Look again with: {self.prog} status {handoff['id']}"
        )


def _countdown(until: float, clock: Callable[[], float]) -> Iterator[float]:
    while (left := until - clock()) > 0:
        yield left


def _since(first: dict[str, Any], step: dict[str, Any]) -> str:
    try:
        passed = datetime.fromisoformat(step["at"]) - datetime.fromisoformat(first["at"])
    except (KeyError, TypeError, ValueError):
        return ""
    return f"{max(0.0, passed.total_seconds()):.1f} s"
