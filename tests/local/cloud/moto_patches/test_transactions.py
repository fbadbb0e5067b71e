"""Tokens, limits and cost of transactions."""

import time
from typing import Any

import pytest
from botocore.exceptions import ClientError


def _add(table: str, pk: str, amount: int = 1) -> dict[str, Any]:
    return {
        "Update": {
            "TableName": table,
            "Key": {"pk": {"S": pk}},
            "UpdateExpression": "ADD n :n",
            "ExpressionAttributeValues": {":n": {"N": str(amount)}},
        }
    }


def _fails(table: str, pk: str) -> dict[str, Any]:
    return {
        "ConditionCheck": {"TableName": table, "Key": {"pk": {"S": pk}}, "ConditionExpression": "attribute_exists(pk)"}
    }


def _item(dynamodb: Any, table: str, pk: str) -> Any:
    return dynamodb.get_item(TableName=table, Key={"pk": {"S": pk}}).get("Item")


def test_the_same_token_writes_once(dynamodb: Any, table: str) -> None:
    for _ in range(3):
        dynamodb.transact_write_items(TransactItems=[_add(table, "a")], ClientRequestToken="once-only")
    assert _item(dynamodb, table, "a")["n"] == {"N": "1"}


def test_the_same_token_for_other_items_is_refused(dynamodb: Any, table: str) -> None:
    dynamodb.transact_write_items(TransactItems=[_add(table, "a")], ClientRequestToken="mine")
    with pytest.raises(ClientError, match="IdempotentParameterMismatchException"):
        dynamodb.transact_write_items(TransactItems=[_add(table, "a", 2)], ClientRequestToken="mine")
    assert _item(dynamodb, table, "a")["n"] == {"N": "1"}


def test_a_cancelled_transaction_may_reuse_its_token(dynamodb: Any, table: str) -> None:
    operations = [_add(table, "a"), _fails(table, "gate")]
    with pytest.raises(ClientError, match="TransactionCanceledException"):
        dynamodb.transact_write_items(TransactItems=operations, ClientRequestToken="again")
    dynamodb.put_item(TableName=table, Item={"pk": {"S": "gate"}})
    dynamodb.transact_write_items(TransactItems=operations, ClientRequestToken="again")
    assert _item(dynamodb, table, "a")["n"] == {"N": "1"}


def test_an_update_over_the_item_limit_changes_nothing(dynamodb: Any, table: str) -> None:
    dynamodb.put_item(TableName=table, Item={"pk": {"S": "a"}, "n": {"N": "1"}})
    for pk in ("a", "new"):
        with pytest.raises(ClientError, match="ValidationException"):
            dynamodb.update_item(
                TableName=table,
                Key={"pk": {"S": pk}},
                UpdateExpression="SET n = :n, big = :big",
                ExpressionAttributeValues={":n": {"N": "2"}, ":big": {"S": "x" * 410_000}},
            )
    assert _item(dynamodb, table, "a") == {"pk": {"S": "a"}, "n": {"N": "1"}}
    assert _item(dynamodb, table, "new") is None


def test_a_transaction_costs_no_more_on_a_large_table(dynamodb: Any, table: str) -> None:
    def seconds() -> float:
        started = time.process_time()
        dynamodb.transact_write_items(TransactItems=[_add(table, "a"), _add(table, "b")])
        return time.process_time() - started

    small = min(seconds() for _ in range(10))
    for start in range(0, 2000, 25):
        puts = [
            {"PutRequest": {"Item": {"pk": {"S": f"row-{n}"}, "v": {"S": "x" * 50}, "w": {"M": {"n": {"N": "1"}}}}}}
            for n in range(start, start + 25)
        ]
        dynamodb.batch_write_item(RequestItems={table: puts})
    large = min(seconds() for _ in range(10))
    assert large < 4 * small


def test_a_transaction_reads_up_to_a_hundred_items(dynamodb: Any, table: str) -> None:
    gets = [{"Get": {"TableName": table, "Key": {"pk": {"S": str(n)}}}} for n in range(100)]
    assert len(dynamodb.transact_get_items(TransactItems=gets)["Responses"]) == 100
