"""The version of stored items. docs/upgrades.md has the rule."""

from collections.abc import Mapping
from typing import Any

from shared.ports.conditions import Condition, unless_more_than

VERSION = 1
"""Raised only when code of the release before must not act on what this one writes. An item without `v` is no newer one."""


def stamped(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """An item with the version in which it is written."""
    return {**item, "v": VERSION}


def is_newer(item: Mapping[str, Any]) -> bool:
    """Whether a newer version wrote an item that this one must not act on."""
    version = item.get("v")
    return type(version) is int and version > VERSION


def not_newer() -> Condition:
    return unless_more_than("v", VERSION)
