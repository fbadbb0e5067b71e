"""Of many concurrent conditional writes exactly one succeeds."""

from typing import Any

ROUNDS = 10


def test_of_many_conditional_updates_exactly_one_wins(dynamodb: Any, table: str, race: Any) -> None:
    for number in range(ROUNDS):
        key = {"pk": {"S": f"claim-{number}"}}
        dynamodb.put_item(TableName=table, Item={**key, "state": {"S": "pending"}})

        def claim(racer: int, key: Any = key) -> None:
            dynamodb.update_item(
                TableName=table,
                Key=key,
                UpdateExpression="SET #s = :running, claimant = :me",
                ConditionExpression="#s = :pending",
                ExpressionAttributeNames={"#s": "state"},
                ExpressionAttributeValues={
                    ":running": {"S": "running"},
                    ":pending": {"S": "pending"},
                    ":me": {"N": str(racer)},
                },
            )

        outcomes = race(claim)
        assert sorted(set(outcomes)) == ["ConditionalCheckFailedException", "won"]
        assert outcomes.count("won") == 1
        item = dynamodb.get_item(TableName=table, Key=key)["Item"]
        assert item["claimant"] == {"N": str(outcomes.index("won"))}


def test_of_many_puts_if_absent_exactly_one_wins(dynamodb: Any, table: str, race: Any) -> None:
    for number in range(ROUNDS):

        def put(racer: int, number: int = number) -> None:
            dynamodb.put_item(
                TableName=table,
                Item={"pk": {"S": f"put-{number}"}, "by": {"N": str(racer)}},
                ConditionExpression="attribute_not_exists(pk)",
            )

        assert race(put).count("won") == 1


def test_of_many_transactions_exactly_one_commits(dynamodb: Any, table: str, race: Any) -> None:
    for number in range(ROUNDS):
        key = {"pk": {"S": f"tx-{number}"}}
        dynamodb.put_item(TableName=table, Item={**key, "epoch": {"N": "0"}})

        def move(racer: int, key: Any = key, number: int = number) -> None:
            dynamodb.transact_write_items(
                TransactItems=[
                    {
                        "Update": {
                            "TableName": table,
                            "Key": key,
                            "UpdateExpression": "SET epoch = epoch + :one",
                            "ConditionExpression": "epoch = :zero",
                            "ExpressionAttributeValues": {":zero": {"N": "0"}, ":one": {"N": "1"}},
                        }
                    },
                    {"Put": {"TableName": table, "Item": {"pk": {"S": f"tx-{number}-by-{racer}"}}}},
                ]
            )

        outcomes = race(move)
        assert sorted(set(outcomes)) == ["TransactionCanceledException", "won"]
        assert outcomes.count("won") == 1
        winner = f"tx-{number}-by-{outcomes.index('won')}"
        witnesses = [
            item["pk"]["S"]
            for item in dynamodb.scan(TableName=table)["Items"]
            if item["pk"]["S"].startswith(f"tx-{number}-by")
        ]
        assert witnesses == [winner]


def test_many_increments_lose_none(dynamodb: Any, table: str, race: Any) -> None:
    key = {"pk": {"S": "counter"}}

    def add(_: int) -> None:
        dynamodb.update_item(
            TableName=table,
            Key=key,
            UpdateExpression="ADD hits :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )

    won = sum(race(add).count("won") for _ in range(ROUNDS))
    assert dynamodb.get_item(TableName=table, Key=key)["Item"]["hits"] == {"N": str(won)}
    assert won == ROUNDS * 16
