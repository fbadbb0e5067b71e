"""The Turns queue under test: SQS on moto, SQLite, or the fake in memory."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from local.cloud.sam import to_cloudformation
from local.paths import TEMPLATE
from shared.aws.queue import SqsDeadTurns, SqsTurnQueue, SqsVisibility
from shared.ports.queue import DeadTurn, DeadTurns, TurnMessage, TurnQueue, Visibility
from shared.ports.queue_text import body_of, message_of
from shared.sqlite.database import Database
from shared.sqlite.queues import SqliteDeadTurns, SqliteQueue, SqliteTurnQueue, SqliteVisibility
from tests.support.fake_queue import FakeDeadTurns, FakeQueue, FakeVisibility, ManualClock, Waiting

if TYPE_CHECKING:
    from local.cloud.engine import Engine

NUMBERS = itertools.count()


@dataclass(frozen=True)
class Received:
    """A message that a reader has received and not deleted yet."""

    message: TurnMessage
    visibility: Visibility
    receipt: Any


class QueueHarness(Protocol):
    """The ports, and the reader's side that Lambda has in production."""

    @property
    def queue(self) -> TurnQueue: ...
    @property
    def dead(self) -> DeadTurns: ...

    def receive(self) -> Received | None: ...
    def delete(self, received: Received) -> None: ...
    def bury(self, message: TurnMessage) -> None: ...
    def expire_dead(self, letters: Sequence[DeadTurn]) -> None:
        """Let the visibility time-out of received dead letters expire."""


class SqsHarness:
    """SQS FIFO queues on moto."""

    def __init__(self, client: Any, url: str, dead_url: str) -> None:
        self._client, self._url, self._dead_url = client, url, dead_url
        self.queue = SqsTurnQueue(client, url)
        self.dead = SqsDeadTurns(client, dead_url)

    def receive(self) -> Received | None:
        for raw in self._client.receive_message(QueueUrl=self._url, MaxNumberOfMessages=1).get("Messages", []):
            receipt = raw["ReceiptHandle"]
            return Received(message_of(raw["Body"]), SqsVisibility(self._client, self._url, receipt), receipt)
        return None

    def delete(self, received: Received) -> None:
        self._client.delete_message(QueueUrl=self._url, ReceiptHandle=received.receipt)

    def bury(self, message: TurnMessage) -> None:
        SqsTurnQueue(self._client, self._dead_url).send(message, dedupe=f"dead {next(NUMBERS)}")

    def bury_text(self, body: str, *, line: str) -> None:
        """Add a dead letter with any text."""
        self._client.send_message(
            QueueUrl=self._dead_url, MessageBody=body, MessageGroupId=line, MessageDeduplicationId=line
        )

    def expire_dead(self, letters: Sequence[DeadTurn]) -> None:
        for letter in letters:
            SqsVisibility(self._client, self._dead_url, letter.handle).set(0)


class FakeHarness:
    """The fake that the tests of use cases run on."""

    def __init__(self) -> None:
        self._clock = ManualClock()
        self.queue: FakeQueue = FakeQueue(self._clock)
        self.dead: FakeDeadTurns = FakeDeadTurns()

    def receive(self) -> Received | None:
        waiting: Waiting | None = self.queue.receive()
        return Received(waiting.message, FakeVisibility(self._clock, waiting), waiting) if waiting else None

    def delete(self, received: Received) -> None:
        self.queue.waiting.remove(received.receipt)

    def bury(self, message: TurnMessage) -> None:
        self.dead.bury(message)

    def expire_dead(self, letters: Sequence[DeadTurn]) -> None:  # noqa: ARG002  # the fake expires all
        self.dead.all_visible()


class SqliteHarness:
    """Queues in a SQLite file."""

    def __init__(self, database: Database) -> None:
        self._turns = SqliteQueue(database, ManualClock(), "turns", visibility=60)
        self.queue = SqliteTurnQueue(self._turns)
        self.dead = SqliteDeadTurns(self._turns.dead_letters)

    def receive(self) -> Received | None:
        for one in self._turns.receive():
            return Received(message_of(one.body), SqliteVisibility(self._turns, one.receipt), one.receipt)
        return None

    def delete(self, received: Received) -> None:
        self._turns.done(received.receipt)

    def bury(self, message: TurnMessage) -> None:
        self._turns.dead_letters.put(body_of(message))

    def bury_text(self, body: str, *, line: str) -> None:
        """Add a dead letter with any text."""
        self._turns.dead_letters.put(body, line=line)

    def expire_dead(self, letters: Sequence[DeadTurn]) -> None:
        for letter in letters:
            SqliteVisibility(self._turns.dead_letters, letter.handle).set(0)


@cache
def _attributes() -> dict[str, str]:
    """The attributes of the template's queue that decide about order and deduplication."""
    queue = to_cloudformation(TEMPLATE.read_text(), "us-east-1")["Resources"]["TurnsQueue"]["Properties"]
    return {
        "FifoQueue": "true",
        **{name: queue[name] for name in ("DeduplicationScope", "FifoThroughputLimit")},
    }


@contextmanager
def sqs_harness(engine: "Engine") -> Iterator[SqsHarness]:
    """Two new queues on moto for one test."""
    client = engine.client("sqs")
    names = [f"contract-{next(NUMBERS)}.fifo" for _ in range(2)]
    urls = [client.create_queue(QueueName=name, Attributes=_attributes())["QueueUrl"] for name in names]
    try:
        yield SqsHarness(client, *urls)
    finally:
        for url in urls:
            client.delete_queue(QueueUrl=url)
