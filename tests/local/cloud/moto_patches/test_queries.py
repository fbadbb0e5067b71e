"""Queries: what they find, and that they cost no more than that."""

import time
from typing import Any


def _fill(dynamodb: Any, table: str, partitions: int, rows: int) -> None:
    puts = [
        {"PutRequest": {"Item": {"pk": {"S": f"p{p}"}, "sk": {"S": f"r{r:03d}"}, "v": {"N": str(r)}}}}
        for p in range(partitions)
        for r in range(rows)
    ]
    for start in range(0, len(puts), 25):
        dynamodb.batch_write_item(RequestItems={table: puts[start : start + 25]})


def _query(dynamodb: Any, table: str, **more: Any) -> Any:
    return dynamodb.query(
        TableName=table,
        KeyConditionExpression="pk = :p AND sk >= :s",
        ExpressionAttributeValues={":p": {"S": "p1"}, ":s": {"S": "r002"}},
        **more,
    )


def test_a_query_reads_one_partition_in_order_and_in_pages(dynamodb: Any, ranged_table: str) -> None:
    _fill(dynamodb, ranged_table, partitions=3, rows=6)
    first = _query(dynamodb, ranged_table, Limit=2)
    assert [item["sk"]["S"] for item in first["Items"]] == ["r002", "r003"]
    rest = _query(dynamodb, ranged_table, ExclusiveStartKey=first["LastEvaluatedKey"])
    assert [item["sk"]["S"] for item in rest["Items"]] == ["r004", "r005"]
    assert "LastEvaluatedKey" not in rest
    backwards = _query(dynamodb, ranged_table, ScanIndexForward=False)
    assert [item["sk"]["S"] for item in backwards["Items"]] == ["r005", "r004", "r003", "r002"]


def test_an_empty_partition_answers_empty(dynamodb: Any, ranged_table: str) -> None:
    assert _query(dynamodb, ranged_table)["Items"] == []


def test_a_sparse_index_has_only_items_with_both_keys(dynamodb: Any, ranged_table: str) -> None:
    for n, extra in enumerate(({}, {"at": {"N": "3"}}, {"at": {"N": "1"}}, {"at": {"N": "2"}})):
        item = {"pk": {"S": f"p{n}"}, "sk": {"S": "META"}, "owner": {"S": "ada"}, "v": {"S": "x"}, **extra}
        dynamodb.put_item(TableName=ranged_table, Item=item)
    dynamodb.put_item(
        TableName=ranged_table,
        Item={"pk": {"S": "p9"}, "sk": {"S": "META"}, "owner": {"S": "bob"}, "at": {"N": "1"}},
    )
    found = dynamodb.query(
        TableName=ranged_table,
        IndexName="by_owner",
        KeyConditionExpression="#o = :o",
        ExpressionAttributeNames={"#o": "owner"},
        ExpressionAttributeValues={":o": {"S": "ada"}},
        ScanIndexForward=False,
    )["Items"]
    assert [item["pk"]["S"] for item in found] == ["p1", "p3", "p2"]
    assert set(found[0]) == {"pk", "sk", "owner", "at"}


def test_a_query_costs_its_partition_not_the_table(dynamodb: Any, ranged_table: str) -> None:
    def seconds() -> float:
        started = time.process_time()
        _query(dynamodb, ranged_table)
        return time.process_time() - started

    _fill(dynamodb, ranged_table, partitions=2, rows=5)
    small = min(seconds() for _ in range(10))
    _fill(dynamodb, ranged_table, partitions=500, rows=5)
    large = min(seconds() for _ in range(10))
    assert large < 3 * small
