"""Expressions that are remembered mean what they say each time, and values come back as they went in."""

import contextlib
from typing import Any

import pytest
from botocore.exceptions import ClientError

KEY = {"pk": {"S": "x"}}
EVERY_KIND = {
    **KEY,
    "text": {"S": "grüße"},
    "empty": {"S": ""},
    "number": {"N": "12.5"},
    "bytes": {"B": b"\x00\xff"},
    "yes": {"BOOL": True},
    "nothing": {"NULL": True},
    "texts": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2"]},
    "many_bytes": {"BS": [b"\x01", b"\x02"]},
    "list": {"L": [{"S": "a"}, {"B": b"\x03"}, {"L": []}, {"M": {"deep": {"N": "1"}}}]},
    "map": {"M": {"a": {"S": "b"}, "b": {"B": b"\x04"}, "none": {"M": {}}}},
}


@pytest.fixture
def item(dynamodb: Any, table: str) -> Any:
    def read() -> Any:
        return dynamodb.get_item(TableName=table, Key=KEY)["Item"]

    return read


def _update(dynamodb: Any, table: str, expression: str, **values: dict[str, Any]) -> Any:
    given = {"ExpressionAttributeValues": {f":{name}": value for name, value in values.items()}} if values else {}
    return dynamodb.update_item(TableName=table, Key=KEY, UpdateExpression=expression, ReturnValues="ALL_NEW", **given)[
        "Attributes"
    ]


def _code(error: pytest.ExceptionInfo[ClientError]) -> str:
    return str(error.value.response["Error"]["Code"])


def test_values_of_every_kind_come_back_as_they_went_in(dynamodb: Any, table: str, item: Any) -> None:
    dynamodb.put_item(TableName=table, Item=EVERY_KIND)
    found = item()
    for name in ("texts", "numbers", "many_bytes"):
        [(kind, members)] = found[name].items()
        found[name] = {kind: sorted(members)}
    assert found == EVERY_KIND


def test_the_same_update_with_other_values_does_something_else(dynamodb: Any, table: str, item: Any) -> None:
    _update(dynamodb, table, "SET a = :v", v={"S": "one"})
    _update(dynamodb, table, "SET a = :v", v={"S": "two"})
    assert item()["a"] == {"S": "two"}


def test_a_repeated_update_reads_the_current_item(dynamodb: Any, table: str, item: Any) -> None:
    for number in ("1", "2", "3"):
        values = {"v": {"N": number}, "one": {"N": "1"}}
        _update(dynamodb, table, "SET kept = if_not_exists(kept, :v), n = :v ADD seen :one", **values)
        _update(dynamodb, table, "SET n = n + :one REMOVE gone", one={"N": "1"})
    assert item() == {**KEY, "kept": {"N": "1"}, "n": {"N": "4"}, "seen": {"N": "3"}}


@pytest.mark.parametrize(
    "expression", ["SET a = :v SET b = :v", "SET a = :v, a.b = :v", "SET a = :v, a = :v", "SET pk = :v", "SET a :v"]
)
def test_an_update_that_dynamodb_refuses_is_refused_each_time(dynamodb: Any, table: str, expression: str) -> None:
    dynamodb.put_item(TableName=table, Item=KEY)
    for _ in range(2):
        with pytest.raises(ClientError) as refused:
            _update(dynamodb, table, expression, v={"S": "x"})
        assert _code(refused) == "ValidationException"


def test_a_cached_condition_depends_on_names_and_values(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item={**KEY, "n": {"N": "5"}, "m": {"N": "50"}})

    def holds(name: str, value: str) -> bool:
        with contextlib.suppress(dynamodb.exceptions.ConditionalCheckFailedException):
            dynamodb.update_item(
                TableName=table,
                Key=KEY,
                UpdateExpression="SET seen = :v",
                ConditionExpression="#n < :v AND attribute_exists(pk)",
                ExpressionAttributeNames={"#n": name},
                ExpressionAttributeValues={":v": {"N": value}},
            )
            return True
        return False

    assert [holds("n", "9"), holds("n", "3"), holds("m", "9"), holds("n", "9")] == [True, False, False, True]


def test_unused_names_and_values_are_refused_each_time(dynamodb: Any, table: str) -> None:
    for _ in range(2):
        with pytest.raises(ClientError) as refused:
            _update(dynamodb, table, "SET a = :v", v={"S": "x"}, unused={"S": "y"})
        assert _code(refused) == "ValidationException"
