"""Sources call with the role of the mapped function; a missing grant is reported by name and retried."""

import queue
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from local.cloud.engine import Engine
from local.cloud.sources.denial import MappingDeniedError, explained
from local.cloud.sources.queue import QueueSource
from local.cloud.sources.stream import StreamSource
from local.cloud.stack import QueueMapping, StreamMapping

PATIENCE = 20.0
STREAM = ("dynamodb:ListStreams", "dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords")
QUEUE = ("sqs:GetQueueAttributes", "sqs:ReceiveMessage", "sqs:DeleteMessage")


@dataclass(frozen=True)
class Mapped:
    """A mapping: its role, what that needs by action, and how to give the function something to do."""

    source: Any
    role: Any
    needs: Mapping[str, str]
    errors: "queue.Queue[Exception]"
    write: Callable[[], object]

    def start(self, *, without: str = "") -> None:
        self.role.allow(*(need for need in self.needs.items() if need[0] != without))
        self.source.start()
        self.write()

    def allow(self, action: str) -> None:
        self.role.allow((action, self.needs[action]))

    def told(self) -> tuple[str, str, str]:
        error = self.errors.get(timeout=PATIENCE)
        assert isinstance(error, MappingDeniedError), error
        return error.function, error.action, error.resource


@pytest.fixture
def stream(engine: Engine, invoker: Any, role: Any, on_failure: Any, stream_table: Any) -> Iterator[Mapped]:
    arn = stream_table.stream_arn
    mapping = StreamMapping(
        function="Process",
        stream_arn=arn,
        batch_size=1,
        window_seconds=0,
        filters=(),
        max_retries=0,
        max_age_seconds=-1,
        bisect=False,
        parallelization=1,
        partial_failures=True,
        on_failure_queue_url=on_failure.url,
        starting_position="TRIM_HORIZON",
    )
    errors: queue.Queue[Exception] = queue.Queue()
    source = StreamSource(mapping, role.function("Process"), engine, invoker, on_error=errors.put)
    needs = {**dict.fromkeys(STREAM, arn), "dynamodb:ListStreams": "*", "sqs:SendMessage": on_failure.arn}
    yield Mapped(source, role, needs, errors, lambda: stream_table.put("a"))
    source.stop()


@pytest.fixture
def turns(engine: Engine, invoker: Any, role: Any) -> Iterator[Mapped]:
    client, name = engine.client("sqs"), f"{uuid4().hex}.fifo"
    attributes = {"FifoQueue": "true", "VisibilityTimeout": "1"}
    url = client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    arn = f"arn:aws:sqs:us-east-1:{engine.account_id}:{name}"
    mapping = QueueMapping("Turn", url, arn, 1, partial_failures=True, max_concurrency=None)
    errors: queue.Queue[Exception] = queue.Queue()
    source = QueueSource(mapping, role.function("Turn"), engine, invoker, on_error=errors.put)
    message = {"QueueUrl": url, "MessageBody": "a", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    yield Mapped(source, role, dict.fromkeys(QUEUE, arn), errors, lambda: client.send_message(**message))
    source.stop()


@pytest.mark.parametrize("action", STREAM)
def test_a_stream_is_read_once_its_grant_is_added(stream: Mapped, invoker: Any, action: str) -> None:
    stream.start(without=action)
    assert {stream.told() for _ in range(3)} == {("Process", action, stream.needs[action])}
    assert invoker.idle
    stream.allow(action)
    assert len(invoker.next()["Records"]) == 1


@pytest.mark.parametrize("action", ["sqs:GetQueueAttributes", "sqs:ReceiveMessage"])
def test_a_queue_is_read_once_its_grant_is_added(turns: Mapped, invoker: Any, action: str) -> None:
    turns.start(without=action)
    assert {turns.told() for _ in range(3)} == {("Turn", action, turns.needs[action])}
    assert invoker.idle
    turns.allow(action)
    assert len(invoker.next()["Records"]) == 1


def test_a_message_that_may_not_be_deleted_returns(turns: Mapped, invoker: Any) -> None:
    turns.start(without="sqs:DeleteMessage")
    assert [invoker.next()["Records"][0]["body"] for _ in range(2)] == ["a", "a"]
    assert turns.told() == ("Turn", "sqs:DeleteMessage", turns.needs["sqs:DeleteMessage"])


def test_a_discarded_record_is_sent_once_it_may_be(stream: Mapped, invoker: Any, failed: Any, on_failure: Any) -> None:
    invoker.answer = lambda _: failed
    stream.start(without="sqs:SendMessage")
    assert {stream.told() for _ in range(2)} == {("Process", "sqs:SendMessage", on_failure.arn)}
    stream.allow("sqs:SendMessage")
    assert on_failure.next()["DDBStreamBatchInfo"]["batchSize"] == 1


def test_a_stream_needs_exactly_lambdas_grants(
    stream: Mapped, invoker: Any, failed: Any, on_failure: Any, engine: Engine
) -> None:
    invoker.answer = lambda _: failed
    stream.role.allow(("dynamodb:*", "*"), ("sqs:*", "*"))
    stream.start()
    on_failure.next()
    assert used(engine, stream) == set(stream.needs.items())


def test_a_queue_needs_exactly_lambdas_grants(turns: Mapped, invoker: Any, engine: Engine) -> None:
    turns.role.allow(("sqs:*", "*"))
    turns.start()
    invoker.next()
    turns.source.stop(PATIENCE)
    assert used(engine, turns) == set(turns.needs.items())


def used(engine: Engine, mapped: Mapped) -> set[tuple[str, str]]:
    return {(grant.action, grant.resource) for grant in engine.access.used if grant.role == mapped.role.arn}


def test_a_denial_names_function_action_and_remedy() -> None:
    text = "User: r is not authorized to perform: sqs:ReceiveMessage on resource: arn:q because no policy allows it"
    denied = ClientError({"Error": {"Code": "AccessDenied", "Message": text}}, "ReceiveMessage")
    said = str(explained(denied, "TurnFunction"))
    assert said.startswith("TurnFunction lacks sqs:ReceiveMessage on arn:q,")
    assert "are kept" in said
    assert "template" in said


def test_other_errors_are_unchanged() -> None:
    gone = ClientError({"Error": {"Code": "QueueDoesNotExist", "Message": "gone"}}, "ReceiveMessage")
    assert explained(gone, "TurnFunction") is gone
