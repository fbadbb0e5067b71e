"""The cost of a query is that of its partition."""

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


def test_a_query_costs_its_partition_not_the_table(dynamodb: Any, ranged_table: str) -> None:
    def seconds() -> float:
        started = time.process_time()
        dynamodb.query(
            TableName=ranged_table,
            KeyConditionExpression="pk = :p AND sk >= :s",
            ExpressionAttributeValues={":p": {"S": "p1"}, ":s": {"S": "r002"}},
        )
        return time.process_time() - started

    _fill(dynamodb, ranged_table, partitions=2, rows=5)
    small = min(seconds() for _ in range(10))
    _fill(dynamodb, ranged_table, partitions=500, rows=5)
    large = min(seconds() for _ in range(10))
    assert large < 3 * small
