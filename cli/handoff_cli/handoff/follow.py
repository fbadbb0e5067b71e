"""Wait for a handoff: ask as often as the service allows, or let it hold the request, and show each step once. Read-only."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from handoff_cli.api.client import Service
from handoff_cli.api.held_poll import HeldPoll
from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import StillRunning, Unreachable
from handoff_cli.ui.ticker import ticking

_PICK_UP_SECONDS = 60.0
_DEADLINE_SECONDS = 900.0
_UNREACHABLE_SECONDS = 60.0
_PROGRESS_SECONDS = 0.25


@dataclass(frozen=True)
class Patience:
    """How long to wait until the handoff is picked up, and until it ends."""

    pick_up: float = _PICK_UP_SECONDS
    whole: float = _DEADLINE_SECONDS

    @classmethod
    def of(cls, seconds: float | None) -> "Patience":
        """The value of `--timeout`, or the default."""
        return cls() if seconds is None else cls(pick_up=seconds, whole=seconds)

    def left(self, handoff: Json, waited: float) -> float:
        """The seconds until waiting ends. A handoff with more than its first step was picked up."""
        return (self.whole if _picked_up(handoff) else min(self.pick_up, self.whole)) - waited


@dataclass(frozen=True)
class Follower:
    """Follows handoffs on one service, and remembers which steps were shown."""

    context: Context
    service: Service
    shown: dict[str, int] = field(default_factory=dict)

    def follow(self, handoff: Json, patience: Patience) -> Json:
        """Return the handoff when it is done. Raises StillRunning when the patience is over."""
        clock = self.context.clock
        began = clock()
        poll = HeldPoll(
            lambda wait, seen: self._read(handoff["id"], patience, began, wait=wait, seen=seen),
            clock=clock,
            sleep=lambda seconds: self._pause(seconds, began),
            longest_wait=self.service.longest_wait,
        )
        while True:
            self.show(handoff)
            if handoff["done"]:
                self.context.terminal.clear_progress()
                return handoff
            left = patience.left(handoff, clock() - began)
            if left <= 0:
                raise StillRunning(self._still_running(handoff, clock() - began))
            handoff = poll.next(handoff, wait=left)

    def show(self, handoff: Json) -> None:
        """Show the steps that were not shown yet."""
        terminal = self.context.terminal
        steps = handoff.get("steps") or []
        for step in steps[self.shown.get(handoff["id"], 0) :]:
            label = str(step.get("label") or step.get("name"))
            terminal.say(f"  {terminal.style('✓', 'green')} {label:<24} {_since(steps[0], step)}")
        self.shown[handoff["id"]] = len(steps)

    def _read(self, handoff_id: str, patience: Patience, began: float, *, wait: float, seen: str | None) -> Json:
        """Read the handoff; retry for a while if the service is unreachable, because the handoff continues."""
        terminal, clock = self.context.terminal, self.context.clock
        until = clock() + min(patience.whole, _UNREACHABLE_SECONDS)
        while True:
            try:
                with ticking(terminal, lambda: self._waited(began), every=_PROGRESS_SECONDS):
                    return self.service.handoff(handoff_id, wait=wait, seen=seen)
            except Unreachable as error:
                if clock() >= until:
                    again = f"The handoff may have continued. Check with: {self.context.prog} status {handoff_id}"
                    raise Unreachable(f"{error} {again}") from error
            terminal.progress(terminal.style("  … the service does not answer, trying again", "yellow"))
            self.context.sleep(1.0)

    def _pause(self, seconds: float, began: float) -> None:
        with ticking(self.context.terminal, lambda: self._waited(began), every=_PROGRESS_SECONDS):
            self.context.sleep(seconds)

    def _waited(self, began: float) -> str | None:
        waited = self.context.clock() - began
        return self.context.terminal.style(f"  … {waited:.0f} s", "dim") if waited >= 1 else None

    def _still_running(self, handoff: Json, waited: float) -> str:
        state = "Still running" if _picked_up(handoff) else "Not picked up yet"
        return (
            f"{state} after {waited:.0f} s; the handoff continues without this terminal. "
            f"Check with: {self.context.prog} status {handoff['id']}"
        )


def _picked_up(handoff: Json) -> bool:
    return len(handoff.get("steps") or []) > 1


def _since(first: dict[str, Any], step: dict[str, Any]) -> str:
    try:
        passed = datetime.fromisoformat(step["at"]) - datetime.fromisoformat(first["at"])
    except (KeyError, TypeError, ValueError):
        return ""
    return f"{max(0.0, passed.total_seconds()):.1f} s"
