"""Pauses between tries that grow, and begin anew after a success."""

import asyncio
import random


class Backoff:
    """Doubles from `first` to `longest` seconds, each shortened by chance so that relays do not knock in step."""

    def __init__(self, first: float = 0.2, longest: float = 15.0) -> None:
        self._first = first
        self._longest = longest
        self._tries = 0

    def reset(self) -> None:
        """The next pause is the first one again."""
        self._tries = 0

    def next(self) -> float:
        """Seconds until the next try."""
        pause = min(self._longest, self._first * 2.0 ** min(self._tries, 16))
        self._tries += 1
        return pause * random.uniform(0.5, 1)  # noqa: S311  # spread, not secrecy

    async def pause(self, *, at_least: float = 0.0) -> None:
        """Wait until the next try."""
        await asyncio.sleep(max(at_least, self.next()))
