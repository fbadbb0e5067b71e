"""Plain Python values as DynamoDB attribute values, and back."""

from collections.abc import Mapping
from typing import Any

from shared.ports.tables import Item


def encode(value: Any) -> dict[str, Any]:
    """One value as an attribute value. None inside a container becomes NULL; `to_item` leaves it out at the top."""
    match value:
        case bool():
            return {"BOOL": value}
        case str():
            return {"S": value}
        case int():
            return {"N": str(int(value))}
        case bytes():
            return {"B": value}
        case None:
            return {"NULL": True}
        case Mapping():
            return {"M": {key: encode(inner) for key, inner in value.items()}}
        case list() | tuple():
            return {"L": [encode(inner) for inner in value]}
    raise TypeError(f"cannot store a {type(value).__name__}")


def decode(attribute: Mapping[str, Any]) -> Any:
    """An attribute value as a plain value. The store writes integers and no sets; a newer version may."""
    ((kind, value),) = attribute.items()
    match kind:
        case "S" | "BOOL":
            return value
        case "N":
            return _number(value)
        case "B":
            return bytes(value)
        case "NULL":
            return None
        case "M":
            return {key: decode(inner) for key, inner in value.items()}
        case "L":
            return [decode(inner) for inner in value]
        case "SS" | "NS" | "BS":
            return [decode({kind[0]: inner}) for inner in value]
    raise TypeError(f"cannot read a {kind}")


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def to_item(values: Mapping[str, Any]) -> dict[str, Any]:
    """A whole item. Attributes that are None are not stored."""
    return {name: encode(value) for name, value in values.items() if value is not None}


def from_item(item: Mapping[str, Any]) -> Item:
    """A whole item as plain values."""
    return {name: decode(attribute) for name, attribute in item.items()}
