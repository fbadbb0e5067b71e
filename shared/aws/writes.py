"""Conditional writes, spelled so that each piece of a condition has a name."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from shared.aws.items import Item, encode, from_item, to_item
from shared.errors import Conflict


@dataclass(frozen=True)
class Condition:
    """A test on the item that a write touches, evaluated by the table in the same step as the write.

    `text` has a `{}` for each attribute path (of `names`) and a `[]` for each of `values`, in order.
    """

    text: str
    names: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()


def equals(name: str, value: Any) -> Condition:
    return Condition("{} = []", (name,), (value,))


def differs(name: str, value: Any) -> Condition:
    return Condition("{} <> []", (name,), (value,))


def absent(name: str) -> Condition:
    return Condition("attribute_not_exists({})", (name,))


def present(name: str) -> Condition:
    return Condition("attribute_exists({})", (name,))


def at_most(name: str, value: int) -> Condition:
    return Condition("{} <= []", (name,), (value,))


def more_than(name: str, value: int) -> Condition:
    return Condition("{} > []", (name,), (value,))


def one_of(name: str, values: Sequence[Any]) -> Condition:
    return Condition(f"{{}} IN ({', '.join('[]' for _ in values)})", (name,), tuple(values))


def either(*conditions: Condition) -> Condition:
    return Condition(
        "(" + " OR ".join(condition.text for condition in conditions) + ")",
        tuple(name for condition in conditions for name in condition.names),
        tuple(value for condition in conditions for value in condition.values),
    )


@dataclass
class _Expression:
    """Collects the names and values of one request under short aliases."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def name(self, path: str) -> str:
        aliases = []
        for piece in path.split("."):
            alias = next((known for known, name in self.names.items() if name == piece), None)
            if alias is None:
                alias = f"#n{len(self.names)}"
                self.names[alias] = piece
            aliases.append(alias)
        return ".".join(aliases)

    def value(self, value: Any) -> str:
        alias = f":v{len(self.values)}"
        self.values[alias] = encode(value)
        return alias

    def condition(self, conditions: Sequence[Condition]) -> str:
        texts = []
        for condition in conditions:
            text = condition.text
            for name in condition.names:
                text = text.replace("{}", self.name(name), 1)
            for value in condition.values:
                text = text.replace("[]", self.value(value), 1)
            texts.append(text)
        return " AND ".join(texts)

    def request(self) -> dict[str, Any]:
        request: dict[str, Any] = {}
        if self.names:
            request["ExpressionAttributeNames"] = self.names
        if self.values:
            request["ExpressionAttributeValues"] = self.values
        return request


@dataclass(frozen=True)
class Put:
    """Write a whole item if the conditions hold."""

    table: str
    item: Mapping[str, Any]
    when: Sequence[Condition] = ()

    def request(self) -> dict[str, Any]:
        expression = _Expression()
        request: dict[str, Any] = {"TableName": self.table, "Item": to_item(self.item)}
        return _with_condition(request, expression, self.when)


@dataclass(frozen=True)
class Update:
    """Change an item if the conditions hold. A value of None in `set` removes the attribute.

    `first` sets what is not set yet; `add` adds to numbers (from 0) and to string sets.
    """

    table: str
    key: Mapping[str, Any]
    when: Sequence[Condition]
    set: Mapping[str, Any] = field(default_factory=dict)
    first: Mapping[str, Any] = field(default_factory=dict)
    add: Mapping[str, Any] = field(default_factory=dict)

    def request(self) -> dict[str, Any]:
        expression = _Expression()
        sets = [f"{expression.name(n)} = {expression.value(v)}" for n, v in self.set.items() if v is not None]
        for name, value in self.first.items():
            alias = expression.name(name)
            sets.append(f"{alias} = if_not_exists({alias}, {expression.value(value)})")
        removes = [expression.name(name) for name, value in self.set.items() if value is None]
        adds = [f"{expression.name(name)} {expression.value(value)}" for name, value in self.add.items()]
        clauses = [("SET", sets), ("REMOVE", removes), ("ADD", adds)]
        text = " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses if parts)
        request = {"TableName": self.table, "Key": to_item(self.key), "UpdateExpression": text}
        return _with_condition(request, expression, self.when)


@dataclass(frozen=True)
class Delete:
    """Remove an item if the conditions hold."""

    table: str
    key: Mapping[str, Any]
    when: Sequence[Condition]

    def request(self) -> dict[str, Any]:
        return _with_condition({"TableName": self.table, "Key": to_item(self.key)}, _Expression(), self.when)


@dataclass(frozen=True)
class Check:
    """Let a transaction stand only if the conditions hold for an item that it does not change."""

    table: str
    key: Mapping[str, Any]
    when: Sequence[Condition]

    def request(self) -> dict[str, Any]:
        return _with_condition({"TableName": self.table, "Key": to_item(self.key)}, _Expression(), self.when)


Write = Put | Update | Check
_VERBS = {Put: "Put", Update: "Update", Check: "ConditionCheck"}


def _with_condition(
    request: dict[str, Any], expression: _Expression, conditions: Sequence[Condition]
) -> dict[str, Any]:
    if conditions:
        request["ConditionExpression"] = expression.condition(conditions)
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return request | expression.request()


class Refusal(Exception):
    """A condition did not hold. Never leaves shared/aws: its catcher names what it means.

    `items` has, for each write, the item as it stands if that write's condition failed.

    A write that failed on an item that does not exist has `{}`; one whose conditions held has None.
    """

    def __init__(self, items: Sequence[Item | None]) -> None:
        super().__init__("a condition did not hold")
        self.items = items


@contextmanager
def _one_write() -> Iterator[None]:
    """What a single write may run into, by our names."""
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == "ConditionalCheckFailedException":
            raise Refusal([from_item(error.response.get("Item", {}))]) from None
        if code == "TransactionConflictException":
            raise Conflict("a transaction was at the same item") from None
        raise


def update(client: Any, write: Update) -> Item:
    """Do one conditional update and return the item as it now is. Raises Refusal, or Conflict as `transact` does."""
    with _one_write():
        return from_item(client.update_item(**write.request(), ReturnValues="ALL_NEW")["Attributes"])


def put(client: Any, write: Put) -> None:
    """Do one conditional put. Raises Refusal, or Conflict as `transact` does."""
    with _one_write():
        client.put_item(**write.request())


def delete(client: Any, write: Delete) -> None:
    """Do one conditional delete. Raises Refusal, or Conflict as `transact` does."""
    with _one_write():
        client.delete_item(**write.request())


def transact(client: Any, writes: Sequence[Write]) -> None:
    """Do all writes or none. Raises Refusal, or Conflict where another transaction was at the same items.

    boto3 sends a request token, so that a repeat after a lost answer is not done twice.
    """
    try:
        client.transact_write_items(TransactItems=[{_VERBS[type(write)]: write.request()} for write in writes])
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == "TransactionConflictException":
            raise Conflict("another transaction was at the same item") from None
        if code != "TransactionCanceledException":
            raise
        reasons = error.response["CancellationReasons"]
        if any(reason["Code"] == "ConditionalCheckFailed" for reason in reasons):
            failed = [r.get("Item", {}) if r["Code"] == "ConditionalCheckFailed" else None for r in reasons]
            raise Refusal([None if item is None else from_item(item) for item in failed]) from None
        if any(reason["Code"] in _PASSING for reason in reasons):
            raise Conflict("another transaction was at the same item") from None
        raise


_PASSING = {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
