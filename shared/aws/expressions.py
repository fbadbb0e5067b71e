"""Writes and their conditions as DynamoDB requests."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.aws.items import encode, to_item
from shared.ports.conditions import AllOf, AnyOf, Condition, Test
from shared.ports.tables import Check, Delete, Put, Update, Write

_COMPARISONS = {"equals": "=", "differs": "<>", "at_most": "<=", "at_least": ">=", "more_than": ">"}
_ACTIONS = {Put: "Put", Update: "Update", Delete: "Delete", Check: "ConditionCheck"}


def request_of(write: Write, table_name: str) -> dict[str, Any]:
    """The parameters of a write, for a single request or for an entry of a transaction."""
    expression = _Expression()
    request: dict[str, Any] = {"TableName": table_name}
    if isinstance(write, Put):
        request["Item"] = to_item(write.item)
    else:
        request["Key"] = to_item(write.key)
    if isinstance(write, Update):
        request["UpdateExpression"] = expression.update(write)
    if write.when:
        request["ConditionExpression"] = expression.conditions(write.when)
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return request | expression.aliases()


def transaction_entry(write: Write, table_name: str) -> dict[str, Any]:
    """The write as an entry of TransactItems."""
    return {_ACTIONS[type(write)]: request_of(write, table_name)}


@dataclass
class _Expression:
    """Collects the names and values of one request under short aliases: any name may be a reserved word."""

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def aliases(self) -> dict[str, Any]:
        both = {"ExpressionAttributeNames": self.names, "ExpressionAttributeValues": self.values}
        return {parameter: aliases for parameter, aliases in both.items() if aliases}

    def update(self, write: Update) -> str:
        sets = [f"{self._name(path)} = {self._value(value)}" for path, value in write.set.items() if value is not None]
        for path, value in write.first.items():
            alias = self._name(path)
            sets.append(f"{alias} = if_not_exists({alias}, {self._value(value)})")
        removes = [self._name(path) for path, value in write.set.items() if value is None]
        adds = [f"{self._name(path)} {self._value(value)}" for path, value in write.add.items()]
        clauses = [("SET", sets), ("REMOVE", removes), ("ADD", adds)]
        return " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses if parts)

    def conditions(self, conditions: Sequence[Condition]) -> str:
        return " AND ".join(map(self._condition, conditions))

    def _condition(self, condition: Condition) -> str:
        match condition:
            case AnyOf(conditions):
                return "(" + " OR ".join(map(self._condition, conditions)) + ")"
            case AllOf(conditions):
                return "(" + self.conditions(conditions) + ")"
            case Test(path, "absent"):
                return f"attribute_not_exists({self._name(path)})"
            case Test(path, "present"):
                return f"attribute_exists({self._name(path)})"
            case Test(path, "unless_more_than", value):
                return f"(NOT {self._name(path)} > {self._value(value)})"
            case Test(path, "one_of", tuple(values)):
                return f"{self._name(path)} IN ({', '.join(map(self._value, values))})"
            case Test(path, operator, value):
                return f"{self._name(path)} {_COMPARISONS[operator]} {self._value(value)}"

    def _name(self, path: str) -> str:
        aliases = []
        for name in path.split("."):
            alias = next((known for known, used in self.names.items() if used == name), None)
            if alias is None:
                alias = f"#n{len(self.names)}"
                self.names[alias] = name
            aliases.append(alias)
        return ".".join(aliases)

    def _value(self, value: Any) -> str:
        alias = f":v{len(self.values)}"
        self.values[alias] = encode(value)
        return alias
