"""The current time."""

from typing import Protocol


class Clock(Protocol):
    """The current time."""

    def now(self) -> int:
        """Milliseconds since the epoch."""
