"""Conditions of table writes as data; `holds` fixes what each of them means."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Value = str | int | bool
Operator = Literal[
    "equals", "differs", "absent", "present", "at_most", "at_least", "more_than", "unless_more_than", "one_of"
]


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


def unless_more_than(path: str, value: int) -> Condition:
    """For times until which something is held: what is missing or no number holds nothing."""
    return Test(path, "unless_more_than", value)


def one_of(path: str, values: Sequence[Value]) -> Condition:
    return Test(path, "one_of", tuple(values))


def either(*conditions: Condition) -> Condition:
    return AnyOf(conditions)


def both(*conditions: Condition) -> Condition:
    return AllOf(conditions)


_MISSING = object()


def holds(condition: Condition, item: Mapping[str, Any]) -> bool:
    """Whether a condition holds for an item (`{}` for one that does not exist).

    A missing attribute satisfies only `absent`, `differs` and `unless_more_than`. Values of different types are never
    equal and never ordered; a boolean is not a number.
    """
    if isinstance(condition, Test):
        return _PASSES[condition.operator](_value_at(item, condition.path), condition.value)
    return _OF[type(condition)](holds(each, item) for each in condition.conditions)


def _is_equal(found: Any, value: Value) -> bool:
    return isinstance(found, bool) is isinstance(value, bool) and bool(found == value)


def _is_number(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool)


def _value_at(item: Mapping[str, Any], path: str) -> Any:
    if "." not in path:
        return item.get(path, _MISSING)
    found: Any = item
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return _MISSING
        found = found[name]
    return found


_OF: Mapping[type, Callable[[Iterable[bool]], bool]] = {AnyOf: any, AllOf: all}
_PASSES: Mapping[Operator, Callable[[Any, Any], bool]] = {
    "absent": lambda found, _: found is _MISSING,
    "present": lambda found, _: found is not _MISSING,
    "equals": _is_equal,
    "differs": lambda found, value: not _is_equal(found, value),
    "one_of": lambda found, value: any(_is_equal(found, each) for each in value),
    "at_most": lambda found, value: _is_number(found) and bool(found <= value),
    "at_least": lambda found, value: _is_number(found) and bool(found >= value),
    "more_than": lambda found, value: _is_number(found) and bool(found > value),
    "unless_more_than": lambda found, value: not (_is_number(found) and found > value),
}
