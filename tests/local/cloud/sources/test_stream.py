"""A table's stream on the engine as an event source."""

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, cast

import pytest
from botocore.credentials import Credentials
from moto.events.exceptions import InvalidEventPatternException

from local.cloud.engine import Engine
from local.cloud.invoke import Result
from local.cloud.sources import delivery
from local.cloud.sources.stream import StreamSource
from local.cloud.stack import FunctionConfig, StreamMapping

Start = Callable[..., StreamSource]


@pytest.fixture
def table(stream_table: Any) -> Any:
    return stream_table


@pytest.fixture
def mapping(table: Any) -> StreamMapping:
    return StreamMapping(
        function="Process",
        stream_arn=table.stream_arn,
        batch_size=10,
        window_seconds=0,
        filters=(),
        max_retries=1,
        max_age_seconds=-1,
        bisect=True,
        parallelization=1,
        partial_failures=True,
        on_failure_queue_url=None,
        starting_position="TRIM_HORIZON",
    )


@pytest.fixture
def function(role: Any, table: Any, on_failure: Any) -> FunctionConfig:
    """The function of the mapping; its role may read the stream and send to the on-failure queue."""
    reads = ("DescribeStream", "GetRecords", "GetShardIterator")
    role.allow(("sqs:SendMessage", on_failure.arn))
    role.allow(("dynamodb:ListStreams", "*"), *((f"dynamodb:{action}", table.stream_arn) for action in reads))
    config: FunctionConfig = role.function("Process")
    return config


@pytest.fixture
def start(engine: Engine, invoker: Any, function: FunctionConfig) -> Iterator[Start]:
    """Start sources whose pauses take no time; stop them at the end."""
    started: list[StreamSource] = []

    def start(mapping: StreamMapping, **options: Any) -> StreamSource:
        source = StreamSource(mapping, function, engine, invoker, **{"pause": lambda _: True, **options})
        started.append(source)
        source.start()
        return source

    yield start
    for source in started:
        source.stop()


def names(event: Mapping[str, Any]) -> list[str]:
    return [record["dynamodb"]["Keys"]["id"]["S"] for record in event["Records"]]


def collect(invoker: Any, count: int) -> list[str]:
    """Names of so many records, however they are batched."""
    found: list[str] = []
    while len(found) < count:
        found += names(invoker.next())
    return found


def shape(value: Any) -> Any:
    """Names and types, without the values."""
    return {key: shape(one) for key, one in value.items()} if isinstance(value, dict) else type(value)


def test_record_has_the_shape_of_the_real_sample(
    start: Start, mapping: StreamMapping, table: Any, invoker: Any, sample: Callable[[str], Any]
) -> None:
    start(mapping)
    (real,) = sample("stream_pending_handoff")["Records"]
    table.put("h1", **{key: value for key, value in real["dynamodb"]["NewImage"].items() if key != "handoff_id"})
    (record,) = invoker.next()["Records"]
    real["dynamodb"]["Keys"] = {"id": real["dynamodb"]["Keys"].pop("handoff_id")}
    real["dynamodb"]["NewImage"]["id"] = real["dynamodb"]["NewImage"].pop("handoff_id")
    assert shape(record) == shape(real)
    assert record["eventName"] == "INSERT"
    assert record["eventSourceARN"] == table.stream_arn
    assert record["dynamodb"]["NewImage"]["state"] == {"S": "pending"}
    assert invoker.functions == ["Process"]


def test_records_have_both_images_and_base64_binaries(
    start: Start, mapping: StreamMapping, table: Any, invoker: Any
) -> None:
    start(mapping)
    table.put("a", data={"B": b"\x00\xff"})
    assert invoker.next()["Records"][0]["dynamodb"]["NewImage"]["data"] == {"B": "AP8="}
    table.put("a", data={"L": [{"B": b"\x01"}]})
    (changed,) = invoker.next()["Records"]
    assert changed["eventName"] == "MODIFY"
    assert changed["dynamodb"]["OldImage"]["data"] == {"B": "AP8="}
    assert changed["dynamodb"]["NewImage"]["data"] == {"L": [{"B": "AQ=="}]}
    table.delete("a")
    (removed,) = invoker.next()["Records"]
    assert removed["eventName"] == "REMOVE"
    assert "NewImage" not in removed["dynamodb"]


def test_the_starting_position_is_respected(start: Start, mapping: StreamMapping, table: Any, invoker: Any) -> None:
    table.put("before")
    start(replace(mapping, starting_position="LATEST"))
    table.put("after")
    assert names(invoker.next()) == ["after"]
    start(mapping)
    assert collect(invoker, 2) == ["before", "after"]


def test_only_records_that_match_a_filter_are_delivered(
    start: Start, mapping: StreamMapping, table: Any, invoker: Any
) -> None:
    pending = {"dynamodb": {"NewImage": {"state": {"S": ["pending"]}}}}
    start(replace(mapping, filters=(pending,)))
    table.put("a", state={"S": "running"})
    table.put("b", state={"S": "pending"})
    table.put("a", state={"S": "pending"})
    assert collect(invoker, 2) == ["b", "a"]
    assert invoker.idle


def test_an_invalid_filter_stops_the_start(start: Start, mapping: StreamMapping) -> None:
    with pytest.raises(InvalidEventPatternException):
        start(replace(mapping, filters=({"dynamodb": "pending"},)))


def test_a_full_batch_ends_the_window(start: Start, mapping: StreamMapping, table: Any, invoker: Any) -> None:
    start(replace(mapping, window_seconds=60, batch_size=3))
    for number in range(6):
        table.put("same item", n={"N": str(number)})
    assert [len(invoker.next()["Records"]) for _ in range(2)] == [3, 3]


def test_the_end_of_the_window_delivers_the_batch(
    start: Start, mapping: StreamMapping, table: Any, invoker: Any
) -> None:
    start(replace(mapping, window_seconds=0.05))
    table.put("a")
    assert names(invoker.next()) == ["a"]


def test_items_keep_their_order_and_delay_no_others(
    start: Start, mapping: StreamMapping, table: Any, invoker: Any, doors: Any
) -> None:
    seen: dict[str, list[str]] = {}

    def answer(event: Mapping[str, Any]) -> None:
        for record in event["Records"]:
            name = record["dynamodb"]["Keys"]["id"]["S"]
            seen.setdefault(name, []).append(record["dynamodb"]["NewImage"]["n"]["N"])
            if record["dynamodb"]["NewImage"]["n"]["N"] == "0":
                doors.enter(name)

    invoker.answer = answer
    start(replace(mapping, parallelization=10, batch_size=1))
    busy = ["a", "b", "c", "e"]  # four items of different lanes
    for number in range(3):
        for name in busy:
            table.put(name, n={"N": str(number)})
    doors.wait_inside(*busy)
    doors.release(*busy)
    for _ in range(12):
        invoker.next()
    assert seen == {name: ["0", "1", "2"] for name in busy}


def test_a_failing_record_goes_to_the_on_failure_queue(
    start: Start, mapping: StreamMapping, table: Any, invoker: Any, on_failure: Any
) -> None:
    failed = Result(error={"errorType": "ValueError", "errorMessage": "no"}, request_id="r")
    done: set[str] = set()
    everyone = threading.Event()

    def answer(event: Mapping[str, Any]) -> Result | None:
        if "poison" in names(event):
            return failed
        done.update(names(event))
        if len(done) == 20:
            everyone.set()
        return None

    invoker.answer = answer
    pauses: list[float] = []

    def record_pause(seconds: float) -> bool:
        pauses.append(seconds)
        return True

    start(
        replace(mapping, on_failure_queue_url=on_failure.url, max_retries=2),
        pause=record_pause,
        now=lambda: 1794822961.5,
    )
    for number in range(10):
        table.put(f"before {number}")
    table.put("poison")
    for number in range(10):
        table.put(f"after {number}")
    assert everyone.wait(20)
    body = on_failure.next()
    info = body["DDBStreamBatchInfo"]
    assert body["requestContext"] == {
        "requestId": "r",
        "functionArn": f"arn:aws:lambda:us-east-1:{table.stream_arn.split(':')[4]}:function:process",
        "condition": "RetryAttemptsExhausted",
        "approximateInvokeCount": 3,
    }
    assert body["responseContext"] == {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"}
    assert (body["version"], body["timestamp"]) == ("1.0", "2026-11-16T09:56:01.500Z")
    assert info["batchSize"] == 1
    assert info["startSequenceNumber"] == info["endSequenceNumber"]
    assert info["streamArn"] == table.stream_arn
    assert info["shardId"].startswith("shardId-")
    assert info["approximateArrivalOfFirstRecord"].endswith("Z")
    assert pauses == [0.1, 0.2]


def test_writes_to_other_tables_hide_no_record(
    start: Start, mapping: StreamMapping, table: Any, invoker: Any, make_table: Callable[[], Any]
) -> None:
    start(replace(mapping, parallelization=2))
    other = make_table()
    with ThreadPoolExecutor() as pool:
        for writer in (other, table):
            pool.map(writer.put, [f"item {number}" for number in range(40)])
    assert len(set(collect(invoker, 40))) == 40
    table.put("one more")
    assert names(invoker.next()) == ["one more"]


def test_a_failing_engine_loses_no_record(
    mapping: StreamMapping, function: FunctionConfig, table: Any, invoker: Any, engine: Engine
) -> None:
    class Failing:
        """The engine, with streams that raise while `broken` is set."""

        def __init__(self) -> None:
            self.broken = False

        def assume(self, role_arn: str) -> Credentials:
            return engine.assume(role_arn)

        def client(self, service: str, credentials: Credentials | None = None) -> Any:
            return self if service == "dynamodbstreams" else engine.client(service, credentials)

        def wait_for_writes(self, seen: int, timeout: float) -> int:
            return engine.wait_for_writes(seen, timeout)

        def __getattr__(self, operation: str) -> Any:
            if self.broken:
                raise ConnectionError("the engine is away")
            return getattr(streams, operation)

    streams, failing, errors = engine.client("dynamodbstreams"), Failing(), threading.Event()
    source = StreamSource(mapping, function, cast("Engine", failing), invoker, on_error=lambda _: errors.set())
    source.start()
    failing.broken = True
    table.put("during the failure")
    assert errors.wait(20)
    failing.broken = False
    assert names(invoker.next()) == ["during the failure"]
    source.stop()


@pytest.fixture
def _long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "growing_pause", lambda _: 60.0)


@pytest.mark.usefixtures("_long_pauses")
def test_stop_ends_retries_and_takes_no_more_records(
    start: Start, mapping: StreamMapping, table: Any, invoker: Any, failed: Result
) -> None:
    invoker.answer = lambda _: failed
    source = start(replace(mapping, max_retries=-1), pause=None)
    table.put("a")
    invoker.next()
    source.stop()
    table.put("b")
    assert invoker.idle
