"""The filter patterns of event source mappings: which records a function wants to see."""

from collections.abc import Callable, Mapping
from typing import Any

_ABSENT = object()
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "=": lambda value, bound: value == bound,
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
}


class UnknownPatternError(ValueError):
    """A pattern that Lambda would refuse, or that nobody here can read."""

    def __init__(self, part: object) -> None:
        super().__init__(
            f"The filter part {part!r} is none that an event source mapping knows. Nothing was started. "
            "Use exact values, null, prefix, suffix, equals-ignore-case, numeric, exists, anything-but or $or."
        )


def check(pattern: Mapping[str, Any]) -> None:
    """Raises UnknownPatternError on anything that `matches` could not decide."""
    for key, part in pattern.items():
        if key == "$or":
            for alternative in part:
                check(alternative)
        elif isinstance(part, Mapping):
            check(part)
        elif isinstance(part, list) and part:
            for rule in part:
                _check_rule(rule)
        else:
            raise UnknownPatternError(part)


def matches(pattern: Mapping[str, Any], record: Any) -> bool:
    """Whether the record fits: every field of the pattern, and for each field any one of its rules."""
    return all(_field_matches(key, part, record) for key, part in pattern.items())


def _field_matches(key: str, part: Any, record: Any) -> bool:
    if key == "$or":
        return any(matches(alternative, record) for alternative in part)
    value = record.get(key, _ABSENT) if isinstance(record, Mapping) else _ABSENT
    if isinstance(part, Mapping):
        return any(matches(part, one) for one in (value if isinstance(value, list) else [value]))
    return any(_leaf_matches(rule, value) for rule in part)


def _leaf_matches(rule: Any, value: Any) -> bool:
    """Patterns look at leaves only; of a list, any one element will do."""
    if isinstance(value, Mapping):
        value = _ABSENT
    if isinstance(value, list) and value:
        return any(_leaf_matches(rule, one) for one in value)
    if not isinstance(rule, Mapping):
        return _equal(rule, value)
    ((operator, operand),) = rule.items()
    return _OPERATORS[operator](operand, value)


def _equal(wanted: Any, value: Any) -> bool:
    """As JSON has it: true is not 1."""
    return wanted == value and isinstance(wanted, bool) == isinstance(value, bool)


def _exists(wanted: Any, value: Any) -> bool:
    return bool((value is not _ABSENT) == wanted)


def _ignoring_case(wanted: Any, value: Any) -> bool:
    return isinstance(value, str) and value.casefold() == wanted.casefold()


def _prefix(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(value, str) and value.casefold().startswith(wanted["equals-ignore-case"].casefold())
    return isinstance(value, str) and value.startswith(wanted)


def _suffix(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(value, str) and value.casefold().endswith(wanted["equals-ignore-case"].casefold())
    return isinstance(value, str) and value.endswith(wanted)


def _numeric(wanted: Any, value: Any) -> bool:
    """Numbers only: DynamoDB's numbers are strings, and on Lambda too no numeric rule ever fits one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return all(_COMPARE[wanted[at]](value, wanted[at + 1]) for at in range(0, len(wanted), 2))


def _anything_but(wanted: Any, value: Any) -> bool:
    if value is _ABSENT:
        return False
    unwanted = wanted if isinstance(wanted, list) else [wanted]
    return not any(_leaf_matches(rule, value) for rule in unwanted)


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "exists": _exists,
    "prefix": _prefix,
    "suffix": _suffix,
    "equals-ignore-case": _ignoring_case,
    "numeric": _numeric,
    "anything-but": _anything_but,
}


def _check_rule(rule: Any) -> None:
    if isinstance(rule, list):
        raise UnknownPatternError(rule)
    if not isinstance(rule, Mapping):
        return
    if len(rule) != 1 or not set(rule) <= set(_OPERATORS):
        raise UnknownPatternError(rule)
    ((operator, operand),) = rule.items()
    if operator == "numeric" and (len(operand) % 2 or not set(operand[::2]) <= set(_COMPARE)):
        raise UnknownPatternError(rule)
    if operator == "anything-but":
        for unwanted in operand if isinstance(operand, list) else [operand]:
            _check_rule(unwanted)
