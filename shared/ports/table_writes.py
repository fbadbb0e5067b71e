"""Effect of each table write on an item, for adapters whose database cannot apply writes itself."""

from collections.abc import Iterable, Mapping
from typing import Any

from shared.ports.tables import (
    INDEXES,
    MAX_DEPTH,
    MAX_ITEM_BYTES,
    MAX_KEY_BYTES,
    MAX_TRANSACTION_BYTES,
    Check,
    InvalidOperation,
    Item,
    Put,
    Table,
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


def check_storable(table: Table, item: Item) -> None:
    """Check an item that comes from outside against what every adapter can store. Raises InvalidOperation."""
    for name, most in zip(table.value, MAX_KEY_BYTES, strict=False):
        value = item.get(name)
        if type(value) is not str or not value or not _is_unicode(value) or len(value.encode()) > most:
            raise InvalidOperation(f"the key {name} must be a text of 1 to {most} bytes")
    for index in INDEXES:
        for name, kind in ((index.partition, index.partition_type), (index.sort, int)):
            value = item.get(name)
            if index.table is table and name in item and (type(value) is not kind or value in ("", None)):
                raise InvalidOperation(f"{name} is the key of an index and must be a {kind.__name__}")
    _check_values(item, 0)
    if None in item.values():
        raise InvalidOperation("an attribute must have a value")
    check_sizes([item])


def _check_values(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidOperation(f"an item has at most {MAX_DEPTH} levels")
    if type(value) is dict:
        if not all(type(name) is str and name for name in value):
            raise InvalidOperation("the name of an attribute must not be empty")
        for inner in value.values():
            _check_values(inner, depth + 1)
    elif type(value) is list:
        for inner in value:
            _check_values(inner, depth + 1)
    elif type(value) not in _PLAIN or (type(value) is int and abs(value) >= 2**63):
        raise InvalidOperation(f"cannot store this {type(value).__name__}")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
