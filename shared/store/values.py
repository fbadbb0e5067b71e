"""Values of stored attributes: one that cannot be read counts as missing."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard, overload

from shared.domain.routes import Place, place_of
from shared.ports.conditions import Condition, either, more_than, unless_more_than

MAX_NUMBER = 2**63 - 1
MAX_TIME = 253_402_300_799_999
"""Milliseconds: the end of the year 9999, the last that can be shown."""


def number_at(item: Mapping[str, Any], name: str, default: int = 0) -> int:
    """A number of 64 bits; a boolean is none."""
    value = item.get(name)
    return value if is_number(value) else default


@overload
def time_at(item: Mapping[str, Any], name: str, default: int = 0) -> int: ...
@overload
def time_at(item: Mapping[str, Any], name: str, default: None) -> int | None: ...
def time_at(item: Mapping[str, Any], name: str, default: int | None = 0) -> int | None:
    """A time in milliseconds, up to the year 9999."""
    value = item.get(name)
    return value if is_number(value) and 0 <= value <= MAX_TIME else default


@overload
def text_at(item: Mapping[str, Any], name: str, default: str) -> str: ...
@overload
def text_at(item: Mapping[str, Any], name: str, default: None = None) -> str | None: ...
def text_at(item: Mapping[str, Any], name: str, default: str | None = None) -> str | None:
    value = item.get(name)
    return value if isinstance(value, str) else default


def place_at(item: Mapping[str, Any], name: str) -> Place | None:
    """The place of a route."""
    try:
        return place_of(item[name])
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def texts_at(item: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The texts in a list, without what else is in it."""
    return tuple(value for value in list_at(item, name) if isinstance(value, str))


def list_at(item: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = item.get(name)
    return value if isinstance(value, list) else ()


def map_at(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = item.get(name)
    return value if isinstance(value, Mapping) else {}


def is_set(item: Mapping[str, Any], name: str) -> bool:
    """Whether a mark is set, as the condition `equals(name, True)` sees it."""
    return item.get(name) is True


def is_over(path: str, now: int) -> Condition:
    """The time until which something is held has come, or cannot be read."""
    return either(unless_more_than(path, now), more_than(path, MAX_TIME))


def is_number(value: Any) -> TypeGuard[int]:
    return type(value) is int and abs(value) <= MAX_NUMBER
