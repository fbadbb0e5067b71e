"""The layout of buttons below a message on Telegram, which cuts labels that are wider than their share of the row."""

from collections.abc import Sequence

from shared.platforms.markdown.clean import title as as_title
from shared.platforms.markdown.split import utf16
from shared.ports.platforms import Button

_LABEL_LIMIT = 75
_ROW_WIDTH = 30  # characters that a narrow phone shows
_MOST_IN_A_ROW = 4
_STYLES = {"primary": "primary", "danger": "danger"}  # Telegram's names; the default style has none


def rows(buttons: Sequence[Button]) -> list[list[dict[str, str]]]:
    """The buttons in their order, as Telegram's fields: short ones share a row."""
    found: list[list[dict[str, str]]] = []
    width = 0
    for button in buttons:
        label = as_title(button.label, _LABEL_LIMIT, utf16)
        width += len(label)
        if not found or width > _ROW_WIDTH or len(found[-1]) == _MOST_IN_A_ROW:
            found.append([])
            width = len(label)
        style = {"style": _STYLES[button.style]} if button.style in _STYLES else {}
        found[-1].append({"text": label, "callback_data": button.id, **style})
    return found
