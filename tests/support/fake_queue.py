"""The Turns queue and its dead letters in memory, and a clock that is set by hand."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from shared.ports.queue import DeadTurn, TurnMessage

NOW = 1_800_000_000_000
FIVE_MINUTES = 300_000


class ManualClock:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> int:
        return self.time


@dataclass
class Waiting:
    """A wake-up in the queue: how often it was received, and when it may be received again."""

    message: TurnMessage
    line: str
    visible_at: int = 0
    tries: int = 0


class FakeQueue:
    """The queue in memory: dedupes, keeps the order of each line, and hides what is being worked on."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._seen: dict[str, int] = {}
        self._lock = threading.Lock()
        self.waiting: list[Waiting] = []

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        with self._lock:
            if self._clock.now() - self._seen.get(dedupe, 0) >= FIVE_MINUTES:
                self._seen[dedupe] = self._clock.now()
                self.waiting.append(Waiting(message, line or message.place.route))

    def next_at(self) -> int:
        """When the first of any line can be received."""
        heads = {one.line: one.visible_at for one in reversed(self.waiting)}
        return min(heads.values())

    def receive(self) -> Waiting | None:
        blocked: set[str] = set()
        for one in self.waiting:
            if one.line not in blocked and one.visible_at <= self._clock.now():
                one.tries += 1
                one.visible_at = self._clock.now() + 960_000
                return one
            blocked.add(one.line)
        return None


@dataclass(frozen=True)
class FakeVisibility:
    """The hold on one received wake-up."""

    clock: ManualClock
    waiting: Waiting

    def set(self, seconds: int) -> None:
        self.waiting.visible_at = self.clock.now() + seconds * 1000


class FakeDeadTurns:
    """The dead-letter queue in memory."""

    def __init__(self) -> None:
        self.letters: list[DeadTurn] = []
        self._out: set[str] = set()

    def receive(self, *, limit: int) -> Sequence[DeadTurn]:
        given = [letter for letter in self.letters if letter.handle not in self._out][:limit]
        self._out |= {letter.handle for letter in given}
        return given

    def delete(self, dead: DeadTurn) -> None:
        self.letters.remove(dead)

    def all_visible(self) -> None:
        """Time has passed: what was received and not deleted comes back."""
        self._out.clear()
