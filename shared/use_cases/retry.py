"""Read again and try again, a bounded number of times, when somebody else was quicker."""

from collections.abc import Callable
from typing import TypeVar

from shared.errors import Conflict

T = TypeVar("T")
TRIES = 5


def on_conflict(attempt: Callable[[], T]) -> T:
    """Run `attempt` (which reads, decides and writes) until its write is not in conflict; the last conflict is raised."""
    for _ in range(TRIES - 1):
        try:
            return attempt()
        except Conflict:
            continue
    return attempt()
