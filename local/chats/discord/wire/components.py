"""Buttons of messages, as rows of components, with Discord's limits."""

import itertools
from typing import Any

from local.chats.discord.wire import errors
from local.chats.simulator.store import Button

JSON = dict[str, Any]
ACTION_ROW, BUTTON = 1, 2
MAX_ROWS, MAX_IN_ROW, MAX_ID, MAX_LABEL = 5, 5, 100, 80
_STYLES = {1: "primary", 2: "default", 3: "primary", 4: "danger"}


def checked(rows: Any) -> list[JSON]:
    """The rows, each component with a number of its own. Only buttons that send an interaction are simulated."""
    if not isinstance(rows, list) or len(rows) > MAX_ROWS:
        raise errors.form("components", "BASE_TYPE_BAD_LENGTH", f"Must be {MAX_ROWS} or fewer in length.")
    numbers = itertools.count(1)
    shown = [{**row, "id": next(numbers), "components": _in_row(row, numbers)} for row in rows]
    ids = [component["custom_id"] for row in shown for component in row["components"]]
    if len(set(ids)) < len(ids):
        text = "Component custom id cannot be duplicated"
        raise errors.form("components", "COMPONENT_CUSTOM_ID_DUPLICATED", text)
    return shown


def buttons_in(rows: list[JSON]) -> list[Button]:
    return [
        {"id": component["custom_id"], "label": component["label"], "style": _STYLES[component["style"]]}
        for row in rows
        for component in row["components"]
    ]


def _in_row(row: Any, numbers: "itertools.count[int]") -> list[JSON]:
    inner = row.get("components") if isinstance(row, dict) and row.get("type") == ACTION_ROW else None
    if not isinstance(inner, list) or not 1 <= len(inner) <= MAX_IN_ROW:
        raise errors.form("components", "BASE_TYPE_BAD_LENGTH", f"Must be between 1 and {MAX_IN_ROW} in length.")
    for component in inner:
        if component.get("type") != BUTTON or component.get("style") not in _STYLES:
            raise errors.form("components", "BASE_TYPE_CHOICES", "Value of field must be a button with a style.")
        errors.check_length("components.custom_id", str(component.get("custom_id", "")), shortest=1, longest=MAX_ID)
        errors.check_length("components.label", str(component.get("label", "")), shortest=1, longest=MAX_LABEL)
    return [{**component, "id": next(numbers)} for component in inner]
