"""Time to live: nothing expires by itself, everything due does when asked."""

from typing import Any

from local.cloud.engine import Engine

NOW = 1_800_000_000


def _put(dynamodb: Any, table: str, pk: str, **attributes: Any) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": pk}, **attributes})


def test_items_past_their_time_are_deleted_and_leave_a_record(engine: Engine, dynamodb: Any, table: str) -> None:
    dynamodb.update_time_to_live(
        TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"}
    )
    _put(dynamodb, table, "past", expires_at={"N": str(NOW - 1)})
    _put(dynamodb, table, "future", expires_at={"N": str(NOW + 1)})
    _put(dynamodb, table, "never")
    _put(dynamodb, table, "text", expires_at={"S": str(NOW - 1)})
    _put(dynamodb, table, "absurd", expires_at={"N": "1"})
    before = engine.wait_for_writes(-1, 0)
    assert engine.expire_items(NOW) == 1
    assert engine.wait_for_writes(-1, 0) == before + 1
    left = {item["pk"]["S"] for item in dynamodb.scan(TableName=table)["Items"]}
    assert left == {"future", "never", "text", "absurd"}
    assert engine.expire_items(NOW) == 0


def test_a_table_without_time_to_live_keeps_everything(engine: Engine, dynamodb: Any, table: str) -> None:
    _put(dynamodb, table, "past", expires_at={"N": str(NOW - 1)})
    assert engine.expire_items(NOW) == 0
