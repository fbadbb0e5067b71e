"""The version of stored items. docs/upgrades.md has the rule."""

from collections.abc import Mapping
from typing import Any

from shared.ports.conditions import Condition, absent, at_most, either

VERSION = 1
"""Raised only when code of the release before must not act on what this one writes. An item without `v` is no newer one."""


def stamped(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """An item with the version in which it is written."""
    return {**item, "v": VERSION}


def is_newer(item: Mapping[str, Any]) -> bool:
    """Whether a newer version wrote an item that this one must not act on."""
    version = item.get("v", 0)
    return not isinstance(version, int) or version > VERSION


def not_newer() -> Condition:
    return either(absent("v"), at_most("v", VERSION))


def map_at(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The map in an attribute; empty if it is missing or of another type."""
    value = item.get(name)
    return value if isinstance(value, Mapping) else {}
