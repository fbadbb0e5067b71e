"""All sources and the real runtime together: a request becomes a record, a message, and a finished item."""

import threading
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from local.cloud.engine import Engine
from local.cloud.invoke import Result
from local.cloud.runtime import RuntimeInvoker
from local.cloud.sources import HttpApi, QueueSource, StreamSource
from local.cloud.stack import FunctionConfig, QueueMapping, Route, Stack, StreamMapping

APP = """
import json, os
import boto3
tables, queues = boto3.client("dynamodb"), boto3.client("sqs")

def put(name, state):
    tables.put_item(TableName=os.environ["TABLE"], Item={"id": {"S": name}, "state": {"S": state}})

def request(event, context):
    put(event["body"], "pending")
    return {"statusCode": 202, "body": event["body"]}

def process(event, context):
    for record in event["Records"]:
        name = record["dynamodb"]["Keys"]["id"]["S"]
        queues.send_message(QueueUrl=os.environ["QUEUE"], MessageBody=name, MessageGroupId=name, MessageDeduplicationId=name)

def turn(event, context):
    put(event["Records"][0]["body"], "done")
"""


class Finished:
    """Hears of items that are done; an invoker for a stream of its own."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._names: set[str] = set()

    def invoke(self, _: str, event: Mapping[str, Any]) -> Result:
        with self._changed:
            self._names |= {record["dynamodb"]["Keys"]["id"]["S"] for record in event["Records"]}
            self._changed.notify_all()
        return Result()

    def wait(self, *names: str) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: set(names) <= self._names, 20)

    def close(self) -> None:
        """Nothing runs."""


@pytest.fixture
def pipeline(engine: Engine, role: Any, tmp_path: Path) -> Iterator[tuple[HttpApi, Finished, RuntimeInvoker]]:
    (tmp_path / "app.py").write_text(APP)
    name = uuid4().hex
    table = engine.client("dynamodb").create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )["TableDescription"]
    url = engine.client("sqs").create_queue(QueueName=f"{name}.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    role.allow(("dynamodb:*", "*"), ("sqs:*", "*"))
    environment = {"TABLE": name, "QUEUE": url}
    functions = {
        one: FunctionConfig(one, f"{name}-{one}", f"app.{one}", 20, 256, environment, role.arn)
        for one in ("request", "process", "turn")
    }
    stack = Stack(functions, (), (), (), (), {}, {})
    runtime = RuntimeInvoker(stack, engine, root=tmp_path, credentials=engine.assume)
    finished = Finished()
    mapping = StreamMapping(
        function="process",
        stream_arn=table["LatestStreamArn"],
        batch_size=10,
        window_seconds=0,
        filters=({"dynamodb": {"NewImage": {"state": {"S": ["pending"]}}}},),
        max_retries=2,
        max_age_seconds=-1,
        bisect=True,
        parallelization=2,
        partial_failures=True,
        on_failure_queue_url=None,
        starting_position="LATEST",
    )
    done = StreamMapping(
        **{
            **mapping.__dict__,
            "function": "finished",
            "filters": ({"dynamodb": {"NewImage": {"state": {"S": ["done"]}}}},),
        }
    )
    queue_arn = f"arn:aws:sqs:us-east-1:{engine.account_id}:{name}.fifo"
    api = HttpApi([Route("POST", "/things", "request")], runtime, account=engine.account_id)
    sources: list[Any] = [
        api,
        StreamSource(mapping, functions["process"], engine, runtime),
        StreamSource(done, role.function("finished"), engine, finished),
        QueueSource(
            QueueMapping("turn", url, queue_arn, 1, partial_failures=False, max_concurrency=None),
            functions["turn"],
            engine,
            runtime,
        ),
    ]
    for source in sources:
        source.start()
    yield api, finished, runtime
    runtime.close()
    for source in sources:
        source.stop()


def post(api: HttpApi, name: str) -> int:
    request = urllib.request.Request(f"{api.url}/things", name.encode(), {"content-type": "text/plain"})  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=20) as response:  # noqa: S310 - loopback
        status: int = response.status
        return status


def test_request_travels_through_stream_and_queue_to_its_end(
    pipeline: tuple[HttpApi, Finished, RuntimeInvoker],
) -> None:
    api, finished, runtime = pipeline
    runtime.warm({"request": 1, "process": 1, "turn": 1})
    assert runtime.wait_warm()
    names = [f"thing{number}" for number in range(5)]
    assert [post(api, name) for name in names] == [202] * 5
    assert finished.wait(*names)


def test_killed_functions_cost_time_but_lose_nothing(pipeline: tuple[HttpApi, Finished, RuntimeInvoker]) -> None:
    api, finished, runtime = pipeline
    assert post(api, "first") == 202
    runtime.kill("process")
    assert post(api, "second") == 202
    assert finished.wait("first", "second")
