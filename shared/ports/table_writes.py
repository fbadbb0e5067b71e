"""Effect of each table write on an item, for adapters whose database cannot apply writes itself."""

from collections.abc import Iterable, Mapping
from typing import Any

from shared.ports.tables import (
    MAX_ITEM_BYTES,
    MAX_TRANSACTION_BYTES,
    Check,
    InvalidOperation,
    Item,
    Put,
    Update,
    Write,
)

_PLAIN = frozenset({str, int, bool, bytes, type(None)})


def applied(write: Write, before: Item | None) -> Item | None:
    """The item after a write, None if there is none. `before` is the caller's own copy: an update changes it.

    Raises InvalidOperation for a path into a missing map and for adding to what is not a number; TypeError for a
    value that cannot be stored.
    """
    if isinstance(write, Update):
        return _updated(dict(write.key) if before is None else before, write)
    if isinstance(write, Put):
        return {name: _stored(value) for name, value in write.item.items() if value is not None}
    return before if isinstance(write, Check) else None


def check_sizes(items: Iterable[Item]) -> None:
    """Raises InvalidOperation if the items of one transaction, as they are after it, are too large."""
    sizes = [_size(item) for item in items]
    if any(size > MAX_ITEM_BYTES for size in sizes):
        raise InvalidOperation(f"an item has at most {MAX_ITEM_BYTES} bytes")
    if sum(sizes) > MAX_TRANSACTION_BYTES:
        raise InvalidOperation(f"a transaction has at most {MAX_TRANSACTION_BYTES} bytes")


def _updated(item: Item, write: Update) -> Item:
    """Every path is resolved before anything is changed."""
    changes = [
        *((*_parent(item, path), "set", value) for path, value in write.set.items()),
        *((*_parent(item, path), "first", value) for path, value in write.first.items()),
        *((*_parent(item, path), "add", value) for path, value in write.add.items()),
    ]
    for parent, name, kind, value in changes:
        if kind == "add":
            number = parent.get(name, 0)
            if not isinstance(number, int) or isinstance(number, bool):
                raise InvalidOperation(f"{name} is not a number")
            parent[name] = number + value
        elif value is None:
            parent.pop(name, None)
        elif kind == "set" or name not in parent:
            parent[name] = _stored(value)
    return item


def _parent(item: Item, path: str) -> tuple[Item, str]:
    """The map that a path leads into, and the name there."""
    if "." not in path:
        return item, path
    *maps, name = path.split(".")
    for each in maps:
        inner = item.get(each)
        if not isinstance(inner, dict):
            raise InvalidOperation(f"{path} leads into a map that does not exist")
        item = inner
    return item, name


def _stored(value: Any) -> Any:
    """A copy of plain types. Raises TypeError for a value that cannot be stored."""
    if type(value) in _PLAIN:
        return value
    match value:
        case None | bool():
            return value
        case str():
            return str(value)
        case int():
            return int(value)
        case bytes():
            return bytes(value)
        case Mapping():
            return {str(name): _stored(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_stored(inner) for inner in value]
    raise TypeError(f"cannot store a {type(value).__name__}")


def _size(value: Any) -> int:
    """About what DynamoDB counts: names and texts in UTF-8, two digits of a number in a byte."""
    match value:
        case str():
            return _utf8_length(value)
        case bytes():
            return len(value)
        case bool() | None:
            return 1
        case int():
            return len(str(value)) // 2 + 2
        case dict():
            return sum(_utf8_length(name) + _size(inner) for name, inner in value.items())
        case _:
            return 3 + sum(1 + _size(inner) for inner in value)


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
