"""Items as JSON; their bytes lie beside it, so that a compressed chunk stays as small as it is."""

import json
from collections.abc import Mapping
from typing import Any

from shared.ports.tables import Item

_Path = tuple[str | int, ...]
_TEXT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
_ASCII = json.JSONEncoder(separators=(",", ":"), check_circular=False)


def encode(values: Mapping[str, Any]) -> tuple[str, bytes | None]:
    """The text and the bytes of plain values: the bytes are null in the text, and begin with the list of their places."""
    try:
        return _text_of(values), None
    except TypeError:  # JSON has no bytes; the few items that have some pay for the search
        found: list[tuple[_Path, bytes]] = []
        text = _text_of(without_bytes(values, (), found))
        places = _text_of([[*path, len(data)] for path, data in found])
        return text, b"\n".join([places.encode("utf-8", "surrogatepass"), b"".join(data for _, data in found)])


def decode(text: str, data: bytes | None) -> Item:
    """The values again."""
    item: Item = json.loads(text)
    if data is not None:
        places, _, rest = data.partition(b"\n")  # JSON text contains no line break
        start = 0
        for *path, name, length in json.loads(places):
            parent: Any = item
            for step in path:
                parent = parent[step]
            parent[name] = rest[start : start + length]
            start += length
    return item


def _text_of(values: Any) -> str:
    text = _TEXT.encode(values)
    if not text.isascii():
        try:
            text.encode()  # SQLite stores UTF-8, which has no half of a surrogate pair
        except UnicodeEncodeError:
            return _ASCII.encode(values)
    return text


def without_bytes(value: Any, path: _Path, found: list[tuple[_Path, bytes]]) -> Any:
    """The value with null instead of bytes, which are added to `found` with their places."""
    if isinstance(value, bytes):
        found.append((path, value))
        return None
    if isinstance(value, Mapping):
        return {name: without_bytes(inner, (*path, name), found) for name, inner in value.items()}
    if isinstance(value, list):
        return [without_bytes(inner, (*path, number), found) for number, inner in enumerate(value)]
    return value
