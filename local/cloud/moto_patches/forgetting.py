"""Removal of deleted and replaced items from memory.

moto lists every model that it ever makes (items, tables, messages), for a dashboard that is not used here. A service that
runs for long would keep each version of each item, and stop for seconds whenever Python looks for garbage among them.
"""

from typing import Any

from moto.core.common_models import BaseModel


def apply() -> None:
    BaseModel.__new__ = _unlisted


def _unlisted(cls: type[BaseModel], *_: Any, **__: Any) -> BaseModel:
    return object.__new__(cls)
