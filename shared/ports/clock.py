"""The time."""

from typing import Protocol


class Clock(Protocol):
    """The time."""

    def now(self) -> int:
        """Milliseconds since the epoch."""
