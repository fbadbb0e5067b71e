"""Speeds up the serialization of DynamoDB's attribute values.

moto looks up each type of value under every name that a Python object might have for it: over a hundred lookups for one
string, a third of all CPU time of the local cloud. Values that are already in wire format are returned unchanged.
"""

from typing import Any

from moto.core.serialize import BaseJSONSerializer

_IN_WIRE_FORMAT = frozenset({"S", "N", "BOOL", "NULL", "SS", "NS"})


def apply() -> None:
    general = BaseJSONSerializer._serialize_type_structure  # noqa: SLF001 - patched

    def structure(self: BaseJSONSerializer, serialized: Any, value: Any, shape: Any, key: str) -> None:
        if shape.name == "AttributeValue" and isinstance(value, dict) and _is_plain(value):
            serialized[key] = value
        else:
            general(self, serialized, value, shape, key)

    BaseJSONSerializer._serialize_type_structure = structure  # noqa: SLF001 - patched


def _is_plain(value: dict[str, Any]) -> bool:
    """Whether the value is in wire format throughout; bytes are not."""
    if len(value) != 1:
        return False
    [(kind, content)] = value.items()
    if kind == "M":
        return all(map(_is_plain, content.values()))
    if kind == "L":
        return all(map(_is_plain, content))
    return kind in _IN_WIRE_FORMAT
