"""Budget of one run of a message of the Turns queue."""

from dataclasses import dataclass

from shared.ports.queue import Visibility


@dataclass(frozen=True)
class TurnBudget:
    """No delivery starts after `deadline`; `tries` counts the receives of the queue message, this one included."""

    visibility: Visibility
    deadline: int
    tries: int
