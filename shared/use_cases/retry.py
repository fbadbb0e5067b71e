"""Retry a write whose optimistic lock failed, a bounded number of times."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from shared.backoff import backoff
from shared.errors import Conflict

T = TypeVar("T")
TRIES = 5
FIRST_PAUSE = 0.005
LONGEST_PAUSE = 0.05


def on_conflict(attempt: Callable[[], T]) -> T:
    """Run `attempt` (read, decide, write) until its write is not in conflict. Raises the last Conflict.

    Each retry reads the item again, so the first one is made at once; later ones wait for the competing writers,
    each for a random time, so that they do not meet again.
    """
    for tries in range(TRIES - 1):
        try:
            return attempt()
        except Conflict:
            if tries:
                pause = backoff(tries, first=FIRST_PAUSE, longest=LONGEST_PAUSE)
                time.sleep(random.uniform(0.0, pause))  # noqa: S311  # spreads writers, protects nothing
    return attempt()
