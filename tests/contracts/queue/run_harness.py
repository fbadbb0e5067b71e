"""The Runs queue under test: a standard queue of SQS on moto, SQLite, or the fake in memory."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from shared.aws.queue import SqsRunQueue
from shared.ports.queue import RunMessage, RunQueue
from shared.ports.queue_text import run_of
from shared.sqlite.database import Database
from shared.sqlite.queues import SqliteQueue, SqliteRunQueue
from tests.support.fake_queue import FakeRunQueue, ManualClock

if TYPE_CHECKING:
    from local.cloud.engine import Engine

NUMBERS = itertools.count()


class RunHarness(Protocol):
    """The port, and the reader's side that Lambda has in production."""

    @property
    def queue(self) -> RunQueue: ...

    def take(self, *, within: int = 0) -> list[RunMessage]:
        """Receive and delete what is visible; wait up to `within` seconds for the first."""


class SqsRuns:
    """A standard queue of SQS on moto."""

    def __init__(self, client: Any, url: str) -> None:
        self._client, self._url = client, url
        self.queue = SqsRunQueue(client, url)

    def take(self, *, within: int = 0) -> list[RunMessage]:
        taken: list[RunMessage] = []
        while messages := self._receive(0 if taken else within):
            for message in messages:
                taken.append(run_of(message["Body"]))
                self._client.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])
        return taken

    def _receive(self, wait: int) -> list[dict[str, str]]:
        answer = self._client.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10, WaitTimeSeconds=wait)
        messages: list[dict[str, str]] = answer.get("Messages", [])
        return messages


class FakeRuns:
    """The fake that the tests of use cases run on."""

    def __init__(self) -> None:
        self._clock = ManualClock()
        self.queue = FakeRunQueue(self._clock)

    def take(self, *, within: int = 0) -> list[RunMessage]:
        due = self.queue.next_at()
        if due is not None and due <= self._clock.now() + within * 1000:
            self._clock.time = max(self._clock.now(), due)
        return self.queue.take()


class SqliteRuns:
    """A queue in a SQLite file."""

    def __init__(self, database: Database) -> None:
        self._clock = ManualClock()
        self._runs = SqliteQueue(database, self._clock, "runs", visibility=960)
        self.queue = SqliteRunQueue(self._runs)

    def take(self, *, within: int = 0) -> list[RunMessage]:
        due = self._runs.next_at()
        if due is not None and due <= self._clock.now() + within * 1000:
            self._clock.time = max(self._clock.now(), due)
        received = self._runs.receive(limit=100)
        for one in received:
            self._runs.done(one.receipt)
        return [run_of(one.body) for one in received]


@contextmanager
def sqs_runs(engine: "Engine") -> Iterator[SqsRuns]:
    """A new queue on moto for one test."""
    client = engine.client("sqs")
    url = client.create_queue(QueueName=f"runs-{next(NUMBERS)}")["QueueUrl"]
    try:
        yield SqsRuns(client, url)
    finally:
        client.delete_queue(QueueUrl=url)
