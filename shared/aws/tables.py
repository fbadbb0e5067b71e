"""The two tables: their names, keys and reads; the only place that knows what a key looks like."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.aws.items import Item, from_item, to_item
from shared.domain.routes import Place

Key = Mapping[str, str]
SEQUENCE_DIGITS = 10


def handoff_key(handoff_id: str) -> Key:
    return {"handoff_id": handoff_id}


def meta_key(session_id: str) -> Key:
    return {"pk": f"SESSION#{session_id}", "sk": "META"}


def chunk_key(session_id: str, first: int) -> Key:
    return {"pk": f"SESSION#{session_id}", "sk": f"CHUNK#{first:0{SEQUENCE_DIGITS}}"}


def out_key(session_id: str, turn_id: str, number: int) -> Key:
    return {"pk": f"SESSION#{session_id}", "sk": f"OUT#{turn_id}#{number:04}"}


def inbox_key(place: Place, event_id: str) -> Key:
    return {"pk": f"INBOX#{place.route}", "sk": event_id}


def route_key(place: Place) -> Key:
    return {"pk": f"ROUTE#{place.route}", "sk": "ROUTE"}


def back_route_key(session_id: str, place: Place) -> Key:
    """Below the session: which routes point to it, so that deleting it finds them."""
    return {"pk": f"SESSION#{session_id}", "sk": f"ROUTE#{place.route}"}


def home_key(user_id: str, platform: str) -> Key:
    return {"pk": f"USER#{user_id}", "sk": f"HOME#{platform}"}


def token_key(user_id: str, token_hash: str) -> Key:
    return {"pk": f"USER#{user_id}", "sk": f"TOKEN#{token_hash}"}


def identity_key(user_id: str, platform: str, person: str) -> Key:
    return {"pk": f"USER#{user_id}", "sk": f"IDENTITY#{platform}#{person}"}


def person_key(platform: str, person: str) -> Key:
    return {"pk": f"PERSON#{platform}#{person}", "sk": "PERSON"}


@dataclass(frozen=True)
class Tables:
    """A DynamoDB client with the names of our two tables."""

    client: Any
    handoffs: str
    sessions: str

    def get(self, table: str, key: Key) -> Item | None:
        """One item, strongly consistent."""
        answer = self.client.get_item(TableName=table, Key=to_item(key), ConsistentRead=True)
        return from_item(answer["Item"]) if "Item" in answer else None

    def get_many(self, table: str, keys: Sequence[Key]) -> list[Item]:
        """Several items, strongly consistent, in the order of `keys`; those that are gone are left out."""
        found: dict[tuple[str, ...], Item] = {}
        for start in range(0, len(keys), 100):
            asked = {table: {"Keys": [to_item(key) for key in keys[start : start + 100]], "ConsistentRead": True}}
            while asked:
                answer = self.client.batch_get_item(RequestItems=asked)
                for raw in answer["Responses"].get(table, []):
                    item = from_item(raw)
                    found[tuple(item[name] for name in keys[0])] = item
                asked = answer.get("UnprocessedKeys") or {}
        return [found[tuple(key.values())] for key in keys if tuple(key.values()) in found]

    def query(
        self,
        pk: str,
        *,
        low: str,
        high: str = "",
        backwards: bool = False,
        limit: int | None = None,
        page: int | None = None,
    ) -> Iterator[Item]:
        """The items of one partition of the Sessions table with low ≤ sk ≤ high, strongly consistent, page by page.

        Without `high`: those whose sort key begins with `low`. `limit` is how many at most; `page` is how many are read
        (and paid for) at a time by a caller who may stop early.
        """
        request: dict[str, Any] = {
            "TableName": self.sessions,
            "KeyConditionExpression": "pk = :pk AND "
            + ("sk BETWEEN :low AND :high" if high else "begins_with(sk, :low)"),
            "ExpressionAttributeValues": to_item({":pk": pk, ":low": low, ":high": high or None}),
            "ConsistentRead": True,
            "ScanIndexForward": not backwards,
        }
        if limit is not None or page is not None:
            request["Limit"] = limit or page
        while True:
            answer = self.client.query(**request)
            yield from map(from_item, answer["Items"])
            if limit is not None or "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def delete_all(self, keys: Sequence[Key]) -> None:
        """Delete items of the Sessions table, 25 a call; those that are gone already do not matter."""
        for start in range(0, len(keys), 25):
            asked = {self.sessions: [{"DeleteRequest": {"Key": to_item(key)}} for key in keys[start : start + 25]]}
            while asked:
                asked = self.client.batch_write_item(RequestItems=asked).get("UnprocessedItems") or {}
