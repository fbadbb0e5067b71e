"""What one run of a turn may use."""

import math
import threading
from dataclasses import dataclass

from shared.ports.queue import Visibility
from shared.services import Services

RESERVE = 60_000
"""Milliseconds kept for commit and delivery once the agent must have answered."""


@dataclass(frozen=True)
class TurnBudget:
    """The agent must answer before `deadline`; `tries` counts the receives of the queue message, this one included."""

    visibility: Visibility
    deadline: int
    tries: int


def turn_budget(services: Services, visibility: Visibility, *, remaining: int, tries: int) -> TurnBudget:
    """The budget of a process that has `remaining` milliseconds left."""
    return TurnBudget(visibility, services.clock.now() + max(remaining - RESERVE, remaining // 2), tries)


class MessageHold:
    """The visibility of the message that a turn holds. `end` has the last word: no late renewal overwrites it."""

    def __init__(self, visibility: Visibility) -> None:
        self._visibility = visibility
        self._lock = threading.Lock()
        self._ended = False

    def set(self, seconds: int) -> None:
        """As the port says; nothing after `end`."""
        with self._lock:
            if not self._ended:
                self._visibility.set(seconds)

    def end(self, seconds: float) -> None:
        """Make the message visible again in so many seconds; waits for a renewal that is under way."""
        with self._lock:
            self._ended = True
            self._visibility.set(math.ceil(seconds))
