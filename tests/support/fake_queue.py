"""The queues of turns and runs and the dead letters in memory, and a clock that a test sets."""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from shared.ports.queue import MAX_DELAY, DeadTurn, RunMessage, TurnMessage

NOW = 1_800_000_000_000
FIVE_MINUTES = 300_000


class ManualClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> int:
        return self.time


@dataclass
class Waiting:
    """A queued message: how often it was received, and when it is visible again."""

    message: TurnMessage
    line: str
    visible_at: int = 0
    tries: int = 0


class FakeQueue:
    """The `TurnQueue` port in memory, and the reader's side of the queue."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()
        self.waiting: list[Waiting] = []

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        line = line or message.place.route
        with self._lock:
            if self._clock.now() - self._seen.get((line, dedupe), 0) >= FIVE_MINUTES:
                self._seen[line, dedupe] = self._clock.now()
                self.waiting.append(Waiting(message, line))

    def forget(self) -> None:
        """Forget what was sent before, as SQS does after five minutes."""
        self._seen.clear()

    def next_at(self) -> int:
        """When the next message of any line is visible."""
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


class FakeRunQueue:
    """The `RunQueue` port in memory: a bag of runs, each with the time from which it is visible."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.waiting: list[tuple[RunMessage, int]] = []

    def send(self, run: RunMessage, *, delay: float = 0.0, again: float | None = None) -> None:
        due = self._clock.now() + math.ceil(max(0.0, min(delay, MAX_DELAY))) * 1000
        with self._lock:
            self.waiting.append((run, due))
        if again is not None:
            self.send(run, delay=again)

    def receive(self) -> RunMessage | None:
        """Receive and delete the first visible run."""
        with self._lock:
            now = self._clock.now()
            first = next((one for one in self.waiting if one[1] <= now), None)
            if first is None:
                return None
            self.waiting.remove(first)
        return first[0]

    def take(self) -> list[RunMessage]:
        """Receive and delete all visible runs."""
        return list(iter(self.receive, None))

    def next_at(self) -> int | None:
        """When the next run is visible; None: there is none."""
        return min((due for _, due in self.waiting), default=None)


@dataclass(frozen=True)
class FakeVisibility:
    """The `Visibility` port for one received message."""

    clock: ManualClock
    waiting: Waiting

    def set(self, seconds: int) -> None:
        self.waiting.visible_at = self.clock.now() + seconds * 1000


class FakeDeadTurns:
    """The `DeadTurns` port in memory."""

    def __init__(self) -> None:
        self.letters: list[DeadTurn] = []
        self._out: set[str] = set()
        self._buried = 0

    def bury(self, message: TurnMessage) -> None:
        """Add a message that the queue gave up on."""
        self._buried += 1
        self.letters.append(DeadTurn(message, f"handle {self._buried}"))

    def receive(self, *, limit: int) -> Sequence[DeadTurn]:
        given = [letter for letter in self.letters if letter.handle not in self._out][:limit]
        self._out |= {letter.handle for letter in given}
        return given

    def delete(self, dead: DeadTurn) -> None:
        self.letters.remove(dead)

    def all_visible(self) -> None:
        """Let the visibility time-out of received letters expire."""
        self._out.clear()
