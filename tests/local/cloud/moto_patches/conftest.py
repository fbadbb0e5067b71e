"""Tables and queues for one test each, on the engine that all tests of a process share."""

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud.engine import Engine

NUMBERS = itertools.count(1)
RACERS = 16

Race = Callable[[Callable[[int], Any]], list[str]]


@pytest.fixture
def table(dynamodb: Any) -> Iterator[str]:
    """A table with a hash key `pk` and a stream."""
    name = _create(dynamodb, ["pk"])
    yield name
    dynamodb.delete_table(TableName=name)


@pytest.fixture
def ranged_table(dynamodb: Any) -> Iterator[str]:
    """A table with keys `pk` and `sk`, an index `by_owner` on `owner` and `at`, and a stream."""
    name = _create(dynamodb, ["pk", "sk"])
    yield name
    dynamodb.delete_table(TableName=name)


def _create(dynamodb: Any, keys: list[str]) -> str:
    name = f"engine-{next(NUMBERS)}"
    attributes = {"pk": "S", "sk": "S", "owner": "S", "at": "N"}
    used = [*keys, "owner", "at"]
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": attributes[key]} for key in used],
        KeySchema=[_key(key, kind) for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by_owner",
                "KeySchema": [_key("owner", "HASH"), _key("at", "RANGE")],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    return name


def _key(name: str, kind: str) -> dict[str, str]:
    return {"AttributeName": name, "KeyType": kind}


@pytest.fixture(scope="session")
def sqs(engine: Engine) -> Any:
    return engine.client("sqs")


@pytest.fixture
def fifo(sqs: Any) -> Iterator[str]:
    """A FIFO queue with short visibility, without dead letters."""
    attributes = {"FifoQueue": "true", "VisibilityTimeout": "1"}
    url = sqs.create_queue(QueueName=f"engine-{next(NUMBERS)}.fifo", Attributes=attributes)["QueueUrl"]
    yield url
    sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def race() -> Iterator[Race]:
    """Run one call in many threads at once; gives "won" or the error code of each. Threads switch all the time."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    barrier = threading.Barrier(RACERS)

    def attempt(call: Callable[[int], Any], number: int) -> str:
        barrier.wait(30)
        try:
            call(number)
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "won"

    with ThreadPoolExecutor(RACERS) as pool:
        yield lambda call: list(pool.map(lambda number: attempt(call, number), range(RACERS)))
    sys.setswitchinterval(interval)
