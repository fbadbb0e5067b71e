"""An invoker whose answers a test decides, and gates that hold calls."""

import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from local.cloud.engine import Engine
from local.cloud.invoke import Result
from local.cloud.sources.queue import QueueSource
from local.cloud.stack import QueueMapping
from tests.local.cloud.sources.queues import Queue, Start

EVENTS = Path(__file__).parents[3] / "events"
PATIENCE = 20.0


class ScriptedInvoker:
    """Hands each event to `answer` and keeps it; `next` waits for the next one."""

    def __init__(self, answer: Callable[[Mapping[str, Any]], Any] = lambda _: None) -> None:
        self.answer = answer
        self.functions: list[str] = []
        self._events: queue.Queue[Mapping[str, Any]] = queue.Queue()

    def invoke(self, function: str, event: Mapping[str, Any]) -> Result:
        self.functions.append(function)
        event = json.loads(json.dumps(event))  # what does not travel as JSON must not arrive
        self._events.put(event)
        answer = self.answer(event)
        return answer if isinstance(answer, Result) else Result(payload=answer, request_id="r")

    def next(self) -> Mapping[str, Any]:
        return self._events.get(timeout=PATIENCE)

    @property
    def idle(self) -> bool:
        return self._events.empty()

    def close(self) -> None:
        """Nothing runs."""


class OnFailureQueue:
    """Where a stream's mapping leaves what it gave up."""

    def __init__(self, engine: Engine) -> None:
        self._client = engine.client("sqs")
        self.url: str = self._client.create_queue(QueueName=(name := uuid4().hex))["QueueUrl"]
        self.arn = f"arn:aws:sqs:us-east-1:{engine.account_id}:{name}"

    def next(self) -> Mapping[str, Any]:
        (message,) = self._client.receive_message(QueueUrl=self.url, WaitTimeSeconds=20)["Messages"]
        told: Mapping[str, Any] = json.loads(message["Body"])
        return told


class Doors:
    """Lets a test hold calls up, one by one, and see which of them are inside."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: list[str] = []
        self._released: set[str] = set()

    def enter(self, name: str) -> None:
        with self._changed:
            self._inside.append(name)
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: name in self._released, PATIENCE)
            self._inside.remove(name)
            self._changed.notify_all()

    def wait_inside(self, *names: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: set(names) <= set(self._inside), PATIENCE), self._inside

    def inside(self) -> list[str]:
        with self._changed:
            return list(self._inside)

    def release(self, *names: str) -> None:
        with self._changed:
            self._released |= set(names)
            self._changed.notify_all()


FAILED = Result(error={"errorType": "ValueError", "errorMessage": "no"}, request_id="r")


@pytest.fixture
def on_failure(engine: Engine) -> OnFailureQueue:
    return OnFailureQueue(engine)


@pytest.fixture
def invoker() -> ScriptedInvoker:
    return ScriptedInvoker()


@pytest.fixture
def doors() -> Doors:
    return Doors()


@pytest.fixture
def failed() -> Result:
    return FAILED


@pytest.fixture
def sample() -> Callable[[str], Any]:
    """Real event JSON by name."""
    return lambda name: json.loads((EVENTS / f"{name}.json").read_text())


@pytest.fixture
def start(engine: Engine, invoker: ScriptedInvoker, role: Any) -> Iterator[Start]:
    """Start a queue as the event source of a function."""
    started: list[QueueSource] = []

    def start(queue: Queue, **options: Any) -> QueueSource:
        settings = {"batch_size": 1, "partial_failures": False, "max_concurrency": None, **options}
        mapping = QueueMapping(function="Turn", queue_url=queue.url, queue_arn=queue.arn(queue.url), **settings)
        reads = ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
        role.allow(*((f"sqs:{action}", mapping.queue_arn) for action in reads))
        source = QueueSource(mapping, role.function("Turn"), engine, invoker)
        started.append(source)
        source.start()
        return source

    yield start
    for source in started:
        source.stop()
