"""A place in a shard survives iterators that expire and records that are gone."""

from collections.abc import Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.cloud.engine import Engine
from local.cloud.sources.shard import Shard, shard_ids


class Forgetful:
    """The real streams client, which loses an iterator when it is told to."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.error: str | None = None

    def get_records(self, **request: Any) -> Any:
        if self.error is not None:
            code, self.error = self.error, None
            raise ClientError({"Error": {"Code": code, "Message": ""}}, "GetRecords")
        return self._client.get_records(**request)

    def get_shard_iterator(self, **request: Any) -> Any:
        return self._client.get_shard_iterator(**request)


@pytest.fixture
def written(engine: Engine, stream_table: Any) -> tuple[Shard, Forgetful, Any]:
    """A shard, its client, and a function that writes an item."""
    arn = stream_table.stream_arn

    def write(number: int) -> None:
        stream_table.put("same", n={"N": str(number)})

    write(0)
    forgetful = Forgetful(client := engine.client("dynamodbstreams"))
    (shard_id,) = shard_ids(client, arn)
    shard = Shard(forgetful, arn, shard_id, "TRIM_HORIZON")
    assert len(shard.read()) == 1
    return shard, forgetful, write


def numbers(records: Any) -> list[str]:
    return [record["dynamodb"]["NewImage"]["n"]["N"] for record in records]


Written = tuple[Shard, Forgetful, Any]


def test_each_record_is_read_once(written: Written) -> None:
    shard, _, write = written
    write(1)
    write(2)
    assert numbers(shard.read()) == ["1", "2"]
    assert shard.read() == []


def test_an_expired_iterator_continues_at_the_next_record(written: Written) -> None:
    shard, client, write = written
    write(1)
    client.error = "ExpiredIteratorException"
    assert numbers(shard.read()) == ["1"]


def test_after_trimming_reading_continues_at_the_oldest(written: Written) -> None:
    shard, client, write = written
    write(1)
    client.error = "TrimmedDataAccessException"
    assert numbers(shard.read()) == ["0", "1"]


def test_other_errors_are_raised_and_keep_the_position(written: Written) -> None:
    shard, client, write = written
    write(1)
    client.error = "InternalServerError"
    with pytest.raises(ClientError):
        shard.read()
    assert numbers(shard.read()) == ["1"]


def test_closed_shard_has_nothing_more(engine: Engine) -> None:
    class Closing:
        def get_shard_iterator(self, **_: str) -> Mapping[str, str]:
            return {"ShardIterator": "i"}

        def get_records(self, **_: Any) -> Mapping[str, Any]:
            return {"Records": [{"dynamodb": {"SequenceNumber": "1"}}]}

    shard = Shard(Closing(), "arn", "s", "LATEST")
    assert len(shard.read()) == 1
    assert shard.read() == []
