"""What writes leave in a table's stream."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item

from local.cloud.engine import Engine
from local.cloud.moto_patches.streams import KEPT
from local.cloud.stack import REGION

Reader = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def streams(engine: Engine) -> Any:
    return engine.client("dynamodbstreams")


@pytest.fixture
def read(dynamodb: Any, streams: Any, table: str) -> Reader:
    """Reads on, in all shards, from where it read last; opened before the test writes anything."""
    arn = dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"]
    iterators = dict(_iterators(streams, arn, "TRIM_HORIZON"))

    def new_records() -> list[dict[str, Any]]:
        found = []
        for shard, iterator in iterators.items():
            answer = streams.get_records(ShardIterator=iterator)
            iterators[shard] = answer["NextShardIterator"]
            found += answer["Records"]
        return sorted(found, key=lambda record: int(record["dynamodb"]["SequenceNumber"]))

    return new_records


def _iterators(streams: Any, arn: str, kind: str) -> Iterator[tuple[str, str]]:
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        answer = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType=kind)
        yield shard["ShardId"], answer["ShardIterator"]


def _names(records: list[dict[str, Any]]) -> list[str]:
    return [record["eventName"] for record in records]


def _touch(dynamodb: Any, table: str, pk: str, value: str) -> None:
    dynamodb.update_item(
        TableName=table,
        Key={"pk": {"S": pk}},
        UpdateExpression="SET v = :v",
        ExpressionAttributeValues={":v": {"S": value}},
    )


def test_an_upsert_by_update_is_one_insert_with_the_whole_item(dynamodb: Any, table: str, read: Reader) -> None:
    _touch(dynamodb, table, "new", "1")
    (record,) = read()
    assert record["eventName"] == "INSERT"
    assert record["dynamodb"]["NewImage"] == {"pk": {"S": "new"}, "v": {"S": "1"}}
    assert "OldImage" not in record["dynamodb"]
    assert record["awsRegion"] == "us-east-1"


def test_a_change_shows_both_images(dynamodb: Any, table: str, read: Reader) -> None:
    _touch(dynamodb, table, "a", "1")
    _touch(dynamodb, table, "a", "2")
    dynamodb.delete_item(TableName=table, Key={"pk": {"S": "a"}})
    records = read()
    assert _names(records) == ["INSERT", "MODIFY", "REMOVE"]
    assert records[1]["dynamodb"]["OldImage"]["v"] == {"S": "1"}
    assert records[1]["dynamodb"]["NewImage"]["v"] == {"S": "2"}
    assert "NewImage" not in records[2]["dynamodb"]


def test_writes_that_change_nothing_leave_no_record(dynamodb: Any, table: str, read: Reader) -> None:
    item = {"pk": {"S": "a"}, "v": {"S": "1"}, "m": {"M": {"n": {"L": [{"N": "1"}]}}}}
    dynamodb.put_item(TableName=table, Item=item)
    assert _names(read()) == ["INSERT"]
    dynamodb.put_item(TableName=table, Item=item)
    _touch(dynamodb, table, "a", "1")
    dynamodb.delete_item(TableName=table, Key={"pk": {"S": "absent"}})
    assert read() == []


def test_a_cancelled_transaction_leaves_no_record(dynamodb: Any, table: str, read: Reader) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": "there"}})
    assert _names(read()) == ["INSERT"]
    with pytest.raises(ClientError, match="TransactionCanceledException"):
        dynamodb.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": table, "Item": {"pk": {"S": "phantom"}}}},
                {
                    "Put": {
                        "TableName": table,
                        "Item": {"pk": {"S": "there"}},
                        "ConditionExpression": "attribute_not_exists(pk)",
                    }
                },
            ]
        )
    assert read() == []
    _touch(dynamodb, table, "later", "1")
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in read()] == ["later"]


def test_a_transaction_leaves_one_record_per_changed_item(dynamodb: Any, table: str, read: Reader) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": "checked"}})
    read()
    dynamodb.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table, "Item": {"pk": {"S": "put"}}}},
            {
                "Update": {
                    "TableName": table,
                    "Key": {"pk": {"S": "updated"}},
                    "UpdateExpression": "SET v = :v",
                    "ExpressionAttributeValues": {":v": {"S": "1"}},
                }
            },
            {
                "ConditionCheck": {
                    "TableName": table,
                    "Key": {"pk": {"S": "checked"}},
                    "ConditionExpression": "attribute_exists(pk)",
                }
            },
        ]
    )
    records = read()
    assert sorted(record["dynamodb"]["Keys"]["pk"]["S"] for record in records) == ["put", "updated"]
    assert _names(records) == ["INSERT", "INSERT"]


def test_records_are_in_the_order_of_the_writes(dynamodb: Any, table: str, read: Reader) -> None:
    writes = [(str(pk), str(value)) for value in range(5) for pk in range(12)]
    for pk, value in writes:
        _touch(dynamodb, table, pk, value)
    images = [record["dynamodb"]["NewImage"] for record in read()]
    assert [(image["pk"]["S"], image["v"]["S"]) for image in images] == writes


def test_latest_sees_only_what_comes_after(dynamodb: Any, streams: Any, table: str) -> None:
    arn = dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"]
    _touch(dynamodb, table, "before", "1")
    iterators = [iterator for _, iterator in _iterators(streams, arn, "LATEST")]
    _touch(dynamodb, table, "after", "1")
    records = [r for iterator in iterators for r in streams.get_records(ShardIterator=iterator)["Records"]]
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in records] == ["after"]


def test_binary_attributes_arrive_as_they_were(dynamodb: Any, table: str, read: Reader) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": "a"}, "z": {"B": b"\x00\xff"}})
    (record,) = read()
    assert record["dynamodb"]["NewImage"]["z"] == {"B": b"\x00\xff"}


def test_a_mapping_inside_moto_does_nothing(engine: Engine, dynamodb: Any, table: str, read: Reader) -> None:
    role = engine.client("iam").create_role(
        RoleName=f"mapped-{table}", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": []})
    )
    function = engine.client("lambda").create_function(
        FunctionName=f"mapped-{table}",
        Runtime="python3.13",
        Role=role["Role"]["Arn"],
        Handler="absent.handler",
        Code={"ZipFile": b"PK\x05\x06" + bytes(18)},
    )
    engine.client("lambda").create_event_source_mapping(
        EventSourceArn=dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"],
        FunctionName=function["FunctionName"],
        StartingPosition="TRIM_HORIZON",
    )
    _touch(dynamodb, table, "a", "1")
    assert _names(read()) == ["INSERT"]


def test_a_stream_keeps_a_bounded_number_of_records(engine: Engine, dynamodb: Any, streams: Any, table: str) -> None:
    arn = dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"]
    ((_, iterator),) = _iterators(streams, arn, "TRIM_HORIZON")
    stream = dynamodb_backends[engine.account_id][REGION].tables[table].stream_shard
    for number in range(KEPT + 5):
        stream.add(None, Item(DynamoType({"S": "a"}), None, {"pk": {"S": "a"}, "n": {"N": str(number)}}))
    assert len(stream.entries) == KEPT
    with pytest.raises(ClientError, match="TrimmedDataAccessException"):
        streams.get_records(ShardIterator=iterator)
    ((_, oldest),) = _iterators(streams, arn, "TRIM_HORIZON")
    assert streams.get_records(ShardIterator=oldest, Limit=1)["Records"][0]["dynamodb"]["NewImage"]["n"] == {"N": "5"}


def test_iterators_are_stateless(dynamodb: Any, streams: Any, table: str, read: Reader) -> None:
    _touch(dynamodb, table, "a", "1")
    first = read()
    arn = dynamodb.describe_table(TableName=table)["Table"]["LatestStreamArn"]
    ((_, iterator), *_) = _iterators(streams, arn, "TRIM_HORIZON")
    answers = [streams.get_records(ShardIterator=iterator)["NextShardIterator"] for _ in range(3)]
    assert len(set(answers)) == 1  # the iterator is the position, and nothing is remembered for it
    assert len(first) == 1


def test_a_write_wakes_a_reader(engine: Engine, dynamodb: Any, table: str) -> None:
    seen = engine.wait_for_writes(-1, 0)
    assert engine.wait_for_writes(seen, 0.01) == seen
    _touch(dynamodb, table, "a", "1")
    assert engine.wait_for_writes(seen, 30) == seen + 1
