"""A message as Slack's blocks: its text, and the buttons below it."""

from collections.abc import Iterator, Sequence
from typing import Any

from shared.platforms.markdown.clean import title as as_title
from shared.ports.platforms import Button

Block = dict[str, Any]

ROOM = 2_000
"""Slack allows 12,000 characters in all blocks of a message together: what a text leaves for its buttons."""
_LABEL_LIMIT = 75
_SECTION_LIMIT = 3_000


def as_blocks(markdown: str, buttons: Sequence[Button]) -> list[Block]:
    """One block of Markdown, and one of buttons if there are any."""
    return [{"type": "markdown", "text": markdown}, *_actions(buttons)]


def as_plain_blocks(text: str, buttons: Sequence[Button]) -> list[Block]:
    """The text as it is, for a message whose Markdown Slack refuses."""
    sections = [
        {
            "type": "section",
            "text": {"type": "plain_text", "text": text[start : start + _SECTION_LIMIT], "emoji": False},
        }
        for start in range(0, len(text), _SECTION_LIMIT)
    ]
    return [*sections, *_actions(buttons)]


def _actions(buttons: Sequence[Button]) -> Iterator[Block]:
    if buttons:
        yield {"type": "actions", "elements": [_button(button) for button in buttons]}


def _button(button: Button) -> Block:
    label = {"type": "plain_text", "text": as_title(button.label, _LABEL_LIMIT), "emoji": False}
    style = {} if button.style == "default" else {"style": button.style}
    return {"type": "button", "action_id": button.id, "value": button.id, "text": label, **style}
