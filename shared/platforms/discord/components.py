"""The buttons of a message as Discord's components: rows of at most five."""

from collections.abc import Sequence
from typing import Any

from shared.platforms.markdown.clean import title as as_title
from shared.ports.platforms import Button

ACTION_ROW, BUTTON = 1, 2
_STYLES = {"primary": 1, "default": 2, "danger": 4}
_LABEL_LIMIT = 80
_ROW = 5


def as_components(buttons: Sequence[Button]) -> list[dict[str, Any]]:
    rows = [buttons[start : start + _ROW] for start in range(0, len(buttons), _ROW)]
    return [{"type": ACTION_ROW, "components": [_button(button) for button in row]} for row in rows]


def _button(button: Button) -> dict[str, Any]:
    label = as_title(button.label, _LABEL_LIMIT)
    return {"type": BUTTON, "style": _STYLES[button.style], "label": label, "custom_id": button.id}
