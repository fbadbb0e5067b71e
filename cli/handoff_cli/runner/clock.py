"""Time as the runner counts it: a machine that sleeps must not believe that its lease still holds."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from handoff_cli.backoff import backoff

# Linux has a clock that includes sleep; on macOS the monotonic one of the kernel does.
_INCLUDES_SLEEP = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def time_with_sleep() -> float:
    """Seconds since some moment, including the time in which the machine slept."""
    return time.monotonic() if _INCLUDES_SLEEP is None else time.clock_gettime(_INCLUDES_SLEEP)


@dataclass(frozen=True)
class Clock:
    """The only clock of the runner, and how often it does what."""

    now: Callable[[], float] = time_with_sleep
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    events: float = 1.0
    """At most one request of a turn in this time."""
    idle: float = 10.0
    """At least one, if the lease is not shorter."""
    asking: float = 2.0
    """At least one while the agent waits for the user."""
    retry: float = 0.5
    """The first pause after a failure; it doubles."""
    longest_retry: float = 30.0
    busy: float = 3.0
    """Between attempts to open a session that the terminal holds."""
    longest_poll: float = 60.0
    """Between polls, even if the service asks for more."""
    cancel: float = 3.0
    """How long an agent may take to stop when it is asked to."""
    stop: float = 10.0
    """How long a runner may take to stop."""
    transcribing: float = 20.0
    """How long a command may take with a voice message: what was said behind it waits no longer."""

    def pause(self, failures: int, at_least: float = 0.0) -> float:
        """How long to wait after that many failures: growing, with jitter, so that many runners do not return at once."""
        longest = backoff(failures, first=self.retry, longest=self.longest_retry)
        return max(at_least, longest * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, not a secret
