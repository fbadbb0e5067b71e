"""DynamoDB's attribute values into answers as they are.

moto looks each value up under every name that it might have in a Python object, type by type: over a hundred lookups
for one string, and a third of the time of the whole local cloud.
"""

from typing import Any

from moto.core.serialize import BaseJSONSerializer

_AS_THEY_ARE = frozenset({"S", "N", "BOOL", "NULL", "SS", "NS"})


def apply() -> None:
    general = BaseJSONSerializer._serialize_type_structure  # noqa: SLF001 - what is mended

    def structure(self: BaseJSONSerializer, serialized: Any, value: Any, shape: Any, key: str) -> None:
        if shape.name == "AttributeValue" and isinstance(value, dict) and _is_plain(value):
            serialized[key] = value
        else:
            general(self, serialized, value, shape, key)

    BaseJSONSerializer._serialize_type_structure = structure  # noqa: SLF001 - likewise


def _is_plain(value: dict[str, Any]) -> bool:
    """Whether nothing in it needs another form on the wire, as bytes do."""
    if len(value) != 1:
        return False
    [(kind, content)] = value.items()
    if kind == "M":
        return all(map(_is_plain, content.values()))
    if kind == "L":
        return all(map(_is_plain, content))
    return kind in _AS_THEY_ARE
