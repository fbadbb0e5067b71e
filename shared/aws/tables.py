"""The `Tables` port on DynamoDB."""

from collections.abc import Iterator, Sequence
from typing import Any

from shared.aws.expressions import request_of, transaction_entry
from shared.aws.items import from_item, to_item
from shared.aws.table_errors import translated
from shared.ports.tables import Delete, Index, Item, Key, Page, Put, Table, Update, Write, validate

_READ_BATCH = 100
_DELETE_BATCH = 25


class DynamoTables:
    """The `Tables` port on two DynamoDB tables of these names."""

    def __init__(self, client: Any, *, handoffs: str, sessions: str) -> None:
        self._client = client
        self._names = {Table.HANDOFFS: handoffs, Table.SESSIONS: sessions}

    def get(self, table: Table, key: Key) -> Item | None:
        answer = self._client.get_item(
            TableName=self._names[table], Key=to_item(table.key_of(key)), ConsistentRead=True
        )
        return from_item(answer["Item"]) if "Item" in answer else None

    def get_many(self, table: Table, keys: Sequence[Key]) -> list[Item]:
        name = self._names[table]
        wanted = [tuple(table.key_of(key).values()) for key in keys]
        found: dict[tuple[str, ...], Item] = {}
        for start in range(0, len(keys), _READ_BATCH):
            asked = {
                name: {"Keys": [to_item(key) for key in keys[start : start + _READ_BATCH]], "ConsistentRead": True}
            }
            while asked:
                answer = self._client.batch_get_item(RequestItems=asked)
                for item in map(from_item, answer["Responses"].get(name, [])):
                    found[tuple(table.key_of(item).values())] = item
                asked = answer.get("UnprocessedKeys") or {}
        return [found[key] for key in wanted if key in found]

    def query(
        self, pk: str, *, low: str, high: str | None = None, backwards: bool = False, page: int | None = None
    ) -> Iterator[Item]:
        request: dict[str, Any] = {
            "TableName": self._names[Table.SESSIONS],
            "KeyConditionExpression": "pk = :pk AND "
            + ("begins_with(sk, :low)" if high is None else "sk BETWEEN :low AND :high"),
            "ExpressionAttributeValues": to_item({":pk": pk, ":low": low, ":high": high}),
            "ConsistentRead": True,
            "ScanIndexForward": not backwards,
        }
        if page is not None:
            request["Limit"] = page
        while True:
            answer = self._client.query(**request)
            yield from map(from_item, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def index(
        self,
        index: Index,
        value: str | int,
        *,
        up_to: int | None = None,
        backwards: bool = False,
        limit: int | None = None,
        after: Item | None = None,
    ) -> Page:
        request: dict[str, Any] = {
            "TableName": self._names[index.table],
            "IndexName": index.name,
            "KeyConditionExpression": f"{index.partition} = :value",
            "ExpressionAttributeValues": to_item({":value": value, ":up_to": up_to}),
            "ScanIndexForward": not backwards,
        }
        if up_to is not None:
            request["KeyConditionExpression"] += f" AND {index.sort} <= :up_to"
        if limit is not None:
            request["Limit"] = limit
        if after is not None:
            request["ExclusiveStartKey"] = to_item(after)
        answer = self._client.query(**request)
        last = answer.get("LastEvaluatedKey")
        return Page([from_item(row) for row in answer["Items"]], from_item(last) if last else None)

    def scan(self, table: Table) -> Iterator[Item]:
        request: dict[str, Any] = {"TableName": self._names[table], "ConsistentRead": True}
        while True:
            answer = self._client.scan(**request)
            yield from map(from_item, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def put(self, write: Put) -> None:
        with translated():
            self._client.put_item(**self._request(write))

    def update(self, write: Update) -> Item:
        with translated():
            answer = self._client.update_item(**self._request(write), ReturnValues="ALL_NEW")
        return from_item(answer["Attributes"])

    def delete(self, write: Delete) -> None:
        with translated():
            self._client.delete_item(**self._request(write))

    def delete_all(self, table: Table, keys: Sequence[Key]) -> None:
        name = self._names[table]
        for start in range(0, len(keys), _DELETE_BATCH):
            asked = {name: [{"DeleteRequest": {"Key": to_item(key)}} for key in keys[start : start + _DELETE_BATCH]]}
            while asked:
                asked = self._client.batch_write_item(RequestItems=asked).get("UnprocessedItems") or {}

    def transact(self, writes: Sequence[Write]) -> None:
        """boto3 sends a request token, so that its retry after a lost answer is not done twice."""
        validate(writes)
        entries = [transaction_entry(write, self._names[write.table]) for write in writes]
        with translated():
            self._client.transact_write_items(TransactItems=entries)

    def _request(self, write: Write) -> dict[str, Any]:
        validate([write])
        return request_of(write, self._names[write.table])
