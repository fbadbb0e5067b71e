"""Conditions of table writes as data; `holds` fixes what each of them means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Value = str | int | bool
Operator = Literal["equals", "differs", "absent", "present", "at_most", "at_least", "more_than", "one_of"]


@dataclass(frozen=True)
class Test:
    """A test of one attribute. `path` may lead into maps: `thread.route`."""

    path: str
    operator: Operator
    value: Value | tuple[Value, ...] | None = None


@dataclass(frozen=True)
class AnyOf:
    """Holds if one of the conditions holds."""

    conditions: "tuple[Condition, ...]"


@dataclass(frozen=True)
class AllOf:
    """Holds if all conditions hold."""

    conditions: "tuple[Condition, ...]"


Condition = Test | AnyOf | AllOf


def equals(path: str, value: Value) -> Condition:
    return Test(path, "equals", value)


def differs(path: str, value: Value) -> Condition:
    return Test(path, "differs", value)


def absent(path: str) -> Condition:
    return Test(path, "absent")


def present(path: str) -> Condition:
    return Test(path, "present")


def at_most(path: str, value: int) -> Condition:
    return Test(path, "at_most", value)


def at_least(path: str, value: int) -> Condition:
    return Test(path, "at_least", value)


def more_than(path: str, value: int) -> Condition:
    return Test(path, "more_than", value)


def one_of(path: str, values: Sequence[Value]) -> Condition:
    return Test(path, "one_of", tuple(values))


def either(*conditions: Condition) -> Condition:
    return AnyOf(conditions)


def both(*conditions: Condition) -> Condition:
    return AllOf(conditions)


_MISSING = object()


def holds(condition: Condition, item: Mapping[str, Any]) -> bool:
    """Whether a condition holds for an item (`{}` for one that does not exist).

    A missing attribute satisfies only `absent` and `differs`. Values of different types are never equal and never
    ordered; a boolean is not a number.
    """
    match condition:
        case AnyOf(conditions):
            return any(holds(each, item) for each in conditions)
        case AllOf(conditions):
            return all(holds(each, item) for each in conditions)
        case Test(path, operator, value):
            return _passes(_value_at(item, path), operator, value)


def _passes(found: Any, operator: Operator, value: Any) -> bool:
    match operator:
        case "absent":
            return found is _MISSING
        case "present":
            return found is not _MISSING
        case "equals":
            return _is_equal(found, value)
        case "differs":
            return not _is_equal(found, value)
        case "one_of":
            return any(_is_equal(found, each) for each in value)
        case "at_most":
            return _is_number(found) and bool(found <= value)
        case "at_least":
            return _is_number(found) and bool(found >= value)
        case "more_than":
            return _is_number(found) and bool(found > value)


def _is_equal(found: Any, value: Value) -> bool:
    return isinstance(found, bool) is isinstance(value, bool) and bool(found == value)


def _is_number(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool)


def _value_at(item: Mapping[str, Any], path: str) -> Any:
    found: Any = item
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return _MISSING
        found = found[name]
    return found
