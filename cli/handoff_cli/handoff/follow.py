"""Wait for a handoff: ask as often as the service allows, or let it hold the request, and show each step once. Read-only."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.context import Context
from handoff_cli.errors import StillRunning, Unreachable
from handoff_cli.ui.ticker import ticking

_PICK_UP_SECONDS = 60.0
_DEADLINE_SECONDS = 900.0
_UNREACHABLE_SECONDS = 60.0
_SHORTEST_PAUSE = 0.05
_USUAL_PAUSE = 1.0
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
        pause = 0.0
        while True:
            self.show(handoff)
            if handoff["done"]:
                self.context.terminal.clear_progress()
                return handoff
            left = patience.left(handoff, clock() - began)
            if left <= 0:
                raise StillRunning(self._still_running(handoff, clock() - began))
            self._pause(pause, began)
            asked, seen = clock(), handoff.get("version")
            wait = min(left, self.service.longest_wait)
            handoff = self._poll(handoff, min(patience.whole, _UNREACHABLE_SECONDS), wait, began)
            pause = _pause_after(handoff, is_news=handoff.get("version") != seen, took=clock() - asked)

    def show(self, handoff: Json) -> None:
        """Show the steps that were not shown yet."""
        terminal = self.context.terminal
        steps = handoff.get("steps") or []
        for step in steps[self.shown.get(handoff["id"], 0) :]:
            label = str(step.get("label") or step.get("name"))
            terminal.say(f"  {terminal.style('✓', 'green')} {label:<24} {_since(steps[0], step)}")
        self.shown[handoff["id"]] = len(steps)

    def _poll(self, handoff: Json, seconds: float, wait: float, began: float) -> Json:
        """Read the handoff; retry for `seconds` while the service is unreachable, because the handoff continues."""
        terminal, clock = self.context.terminal, self.context.clock
        asked = clock()
        while True:
            try:
                with ticking(terminal, lambda: self._waited(began), every=_PROGRESS_SECONDS):
                    return self.service.handoff(handoff["id"], wait=wait, seen=handoff.get("version"))
            except Unreachable as error:
                if clock() - asked >= seconds:
                    again = f"The handoff may have continued. Check with: {self.context.prog} status {handoff['id']}"
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


def _pause_after(handoff: Json, *, is_news: bool, took: float) -> float:
    """The seconds before the next request: what the service says. One that held this request says 0."""
    said = handoff.get("poll_after_ms")
    if said is None:
        return _USUAL_PAUSE
    if said == 0:
        return 0.0 if is_news else max(0.0, _SHORTEST_PAUSE - took)  # a service that did not hold it, after all
    return max(_SHORTEST_PAUSE, float(said) / 1000)


def _since(first: dict[str, Any], step: dict[str, Any]) -> str:
    try:
        passed = datetime.fromisoformat(step["at"]) - datetime.fromisoformat(first["at"])
    except (KeyError, TypeError, ValueError):
        return ""
    return f"{max(0.0, passed.total_seconds()):.1f} s"
