"""Queues in the file: messages in lines or in no order, hidden while a worker has them, dead after too many receives."""

import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shared.ports.clock import Clock
from shared.ports.queue import MAX_DELAY, DeadTurn, RunMessage, TurnMessage
from shared.ports.queue_text import body_of, message_of, run_body_of
from shared.sqlite.database import Database

DEDUPE_MILLISECONDS = 5 * 60_000
DEAD_LETTERS_KEPT = 14 * 86_400_000
"""Milliseconds. Other messages are kept until they are done or dead, however long the service was off."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Received:
    """A message that a worker has received. `receives` counts this time, too."""

    body: str
    receipt: str
    receives: int


@dataclass(frozen=True)
class SqliteQueue:
    """One queue with its dead letters. Messages of one line are received in order, one at a time.

    `visibility` is in seconds. A message that was received `max_receives` times goes to the dead letters instead of a
    worker. `changed` is called when a message may have become ready or `next_at` may be earlier: after the commit and
    outside the lock. Queues that give the same `family` share their dead letters.
    """

    database: Database
    clock: Clock
    name: str
    visibility: float
    max_receives: int | None = None
    changed: Callable[[], None] = lambda: None
    family: str = ""

    @property
    def dead_letters(self) -> "SqliteQueue":
        """The queue of this queue's dead letters, in no order."""
        return SqliteQueue(self.database, self.clock, f"dead-{self.family or self.name}", visibility=30.0)

    def put_unordered(self, body: str, delays: Sequence[float]) -> None:
        """Add a message without a line once for each delay, all or none."""
        now = self.clock.now()
        with self.database.writing() as connection:
            connection.executemany(
                "INSERT INTO messages (queue, body, sent_at, ready_at) VALUES (?, ?, ?, ?)",
                [(self.name, body, now, now + _milliseconds(delay)) for delay in delays],
            )
        self.changed()

    def put(self, body: str, *, line: str | None = None, dedupe: str | None = None) -> None:
        """Add a message. `dedupe` needs a line."""
        now = self.clock.now()
        with self.database.writing() as connection:
            if dedupe is not None and not self._is_new(connection, line or "", dedupe, now):
                return
            ready_at = None if self._is_occupied(connection, line) else now
            connection.execute(
                "INSERT INTO messages (queue, line, body, sent_at, ready_at) VALUES (?, ?, ?, ?, ?)",
                (self.name, line, body, now, ready_at),
            )
        self.changed()

    def receive(self, *, limit: int = 1) -> list[Received]:
        """Messages that are ready, hidden from now on for the visibility time-out."""
        now = self.clock.now()
        next_at = self.next_at()
        if next_at is None or next_at > now:  # most often, and it needs no lock
            return []
        taken: list[Received] = []
        with self.database.writing() as connection:
            while len(taken) < limit and (ready := self._ready(connection, now, limit - len(taken))):
                for number, line, body, receives in ready:
                    if self.max_receives is not None and receives >= self.max_receives:
                        self._bury(connection, number, line, now)
                        continue
                    connection.execute(
                        "UPDATE messages SET ready_at = ?, receives = receives + 1 WHERE id = ?",
                        (now + max(1, _milliseconds(self.visibility)), number),
                    )
                    taken.append(Received(body, f"{number}-{receives + 1}", receives + 1))
        return taken

    def next_at(self) -> int | None:
        """When the next message is ready, in milliseconds; may be past. None: there is none."""
        with self.database.reading() as connection:
            (at,) = connection.execute(
                "SELECT min(ready_at) FROM messages WHERE queue = ? AND ready_at IS NOT NULL", (self.name,)
            ).fetchone()
        return None if at is None else int(at)

    def done(self, receipt: str) -> None:
        """Delete a message. An old receipt, of a message that another worker has received since, changes nothing."""
        with self.database.writing() as connection:
            found = connection.execute(
                "SELECT id, line FROM messages WHERE id = ? AND receives = ? AND queue = ?",
                (*_numbers(receipt), self.name),
            ).fetchone()
            if found is None:
                return
            number, line = found
            connection.execute("DELETE FROM messages WHERE id = ?", (number,))
            has_next = self._promote(connection, line)
        if has_next:
            self.changed()

    def set_visibility(self, receipt: str, seconds: float) -> None:
        """Make a received message ready in so many seconds. An old receipt changes nothing."""
        with self.database.writing() as connection:
            connection.execute(
                "UPDATE messages SET ready_at = ? WHERE id = ? AND receives = ? AND queue = ?",
                (self.clock.now() + _milliseconds(seconds), *_numbers(receipt), self.name),
            )
        self.changed()

    def release_all(self) -> int:
        """Make every received message ready now; returns how many. For a process that knows that it is alone."""
        now = self.clock.now()
        with self.database.writing() as connection:
            released = connection.execute(
                "UPDATE messages SET ready_at = ? WHERE queue = ? AND ready_at > ? AND receives > 0",
                (now, self.name, now),
            ).rowcount
        self.changed()
        return released

    def expire(self) -> None:
        """Forget what was sent more than five minutes ago, and dead letters after two weeks."""
        now = self.clock.now()
        with self.database.writing() as connection:
            connection.execute("DELETE FROM dedupes WHERE queue = ? AND until <= ?", (self.name, now))
            connection.execute(
                "DELETE FROM messages WHERE queue = ? AND sent_at <= ?",
                (self.dead_letters.name, now - DEAD_LETTERS_KEPT),
            )

    def _is_new(self, connection: sqlite3.Connection, line: str, dedupe: str, now: int) -> bool:
        noted = connection.execute(
            "INSERT INTO dedupes VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET until = excluded.until WHERE until <= ?",
            (self.name, line, dedupe, now + DEDUPE_MILLISECONDS, now),
        )
        return noted.rowcount > 0

    def _is_occupied(self, connection: sqlite3.Connection, line: str | None) -> bool:
        find = "SELECT 1 FROM messages WHERE queue = ? AND line = ? LIMIT 1"
        return line is not None and connection.execute(find, (self.name, line)).fetchone() is not None

    def _ready(self, connection: sqlite3.Connection, now: int, limit: int) -> list[tuple[int, str | None, str, int]]:
        find = (
            "SELECT id, line, body, receives FROM messages WHERE queue = ? AND ready_at <= ? ORDER BY ready_at LIMIT ?"
        )
        return connection.execute(find, (self.name, now, limit)).fetchall()

    def _bury(self, connection: sqlite3.Connection, number: int, line: str | None, now: int) -> None:
        connection.execute(
            "UPDATE messages SET queue = ?, line = NULL, sent_at = ?, ready_at = ?, receives = 0 WHERE id = ?",
            (self.dead_letters.name, now, now, number),
        )
        self._promote(connection, line)

    def _promote(self, connection: sqlite3.Connection, line: str | None) -> bool:
        """Make the next message of a line ready, if there is one. Only the first of a line ever is."""
        if line is None:
            return False
        first = "SELECT min(id) FROM messages WHERE queue = ? AND line = ?"
        promoted = connection.execute(
            f"UPDATE messages SET ready_at = ? WHERE id = ({first})",  # noqa: S608  # a constant
            (self.clock.now(), self.name, line),
        )
        return promoted.rowcount > 0


def _milliseconds(seconds: float) -> int:
    return round(max(0.0, seconds) * 1000)


def _numbers(receipt: str) -> tuple[int, int]:
    number, _, receives = receipt.partition("-")
    return int(number), int(receives)


@dataclass(frozen=True)
class SqliteTurnQueue:
    """The `TurnQueue` port. Messages for places of a platform that has a queue of its own go there."""

    queue: SqliteQueue
    by_platform: Mapping[str, SqliteQueue] = field(default_factory=dict)

    def send(self, message: TurnMessage, *, dedupe: str, line: str | None = None) -> None:
        queue = self.by_platform.get(message.place.platform, self.queue)
        queue.put(body_of(message), line=line or message.place.route, dedupe=dedupe)


@dataclass(frozen=True)
class SqliteRunQueue:
    """The `RunQueue` port."""

    queue: SqliteQueue

    def send(self, run: RunMessage, *, delay: float = 0.0, again: float | None = None) -> None:
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
