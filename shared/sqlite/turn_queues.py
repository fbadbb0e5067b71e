"""The ports of the queues of turns and runs."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from shared.ports.queue import MAX_DELAY, DeadTurn, Run, TurnMessage
from shared.ports.queue_text import body_of, message_of, run_body_of
from shared.sqlite.queues import Received, SqliteQueue

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SqliteTurnQueue:
    """The `TurnQueue` port."""

    queue: SqliteQueue

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        self.queue.put(body_of(message), line=line or message.place.route, dedupe=dedupe)


@dataclass(frozen=True)
class SqliteRunQueue:
    """The `RunQueue` port."""

    queue: SqliteQueue

    def send(self, run: Run, *, delay: float = 0.0, again: float | None = None) -> None:
        delays = [delay] if again is None else [delay, again]
        self.queue.put_unordered(run_body_of(run), [min(one, MAX_DELAY) for one in delays])


@dataclass(frozen=True)
class SqliteDeadTurns:
    """The `DeadTurns` port on the dead letters of a queue."""

    letters: SqliteQueue

    def receive(self, *, limit: int) -> Sequence[DeadTurn]:
        """A message that cannot be parsed stays until it expires, for a version that can read it; it is passed over."""
        while received := self.letters.receive(limit=limit):
            if found := [dead for one in received if (dead := _dead_turn(one))]:
                return found
        return []

    def delete(self, dead: DeadTurn) -> None:
        self.letters.done(dead.handle)


@dataclass(frozen=True)
class SqliteVisibility:
    """The `Visibility` port for one received message."""

    queue: SqliteQueue
    receipt: str

    def set(self, seconds: int) -> None:
        self.queue.set_visibility(self.receipt, seconds)


def _dead_turn(received: Received) -> DeadTurn | None:
    try:
        return DeadTurn(message_of(received.body), received.receipt)
    except ValueError:
        log.error("a dead letter cannot be read: %s", received.receipt)  # noqa: TRY400  # a traceback adds nothing
        return None
