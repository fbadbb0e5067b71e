"""What one run of a turn may use."""

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
