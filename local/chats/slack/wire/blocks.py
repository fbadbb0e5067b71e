"""Block Kit as far as the bot uses it: its limits, the text that people see, and the buttons."""

from typing import Any

from local.chats.simulator.store import Button
from local.chats.slack.wire.arguments import SlackError

JSON = dict[str, Any]
MAX_MARKDOWN = 12_000
MAX_ALL = 13_200  # characters of all blocks with their field names; not documented, seen by others
MAX_BLOCKS, MAX_ELEMENTS = 50, 25
MAX_SECTION, MAX_HEADER, MAX_LABEL, MAX_ID, MAX_VALUE = 3_000, 150, 75, 255, 2_000
_STYLES = (None, "primary", "danger")


def checked(blocks: Any) -> list[JSON]:
    """The blocks, if Slack would take them."""
    if not isinstance(blocks, list) or len(blocks) > MAX_BLOCKS or not all(map(_is_valid, blocks)):
        raise SlackError("invalid_blocks")
    ids = [element["action_id"] for element in _elements(blocks)]
    if len(set(ids)) < len(ids):
        raise SlackError("invalid_blocks")
    if _size(blocks) > MAX_ALL:
        raise SlackError("msg_blocks_too_long")
    return blocks


def text_of(blocks: list[JSON]) -> str:
    """The text that people see instead of the message's `text`: Markdown, or plain sections."""
    markdown = [block["text"] for block in blocks if block["type"] == "markdown"]
    plain = [block["text"]["text"] for block in blocks if block["type"] == "section" and _is_plain(block["text"])]
    return "\n".join(markdown) or "".join(plain)


def buttons_in(blocks: list[JSON]) -> list[Button]:
    return [
        {"id": button["action_id"], "label": button["text"]["text"], "style": button.get("style", "default")}
        for button in _elements(blocks)
    ]


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(len(name) + _size(inner) for name, inner in value.items())
    return sum(map(_size, value)) if isinstance(value, list) else len(str(value))


def _elements(blocks: list[JSON]) -> list[JSON]:
    return [element for block in blocks if block["type"] == "actions" for element in block["elements"]]


def _is_valid(block: Any) -> bool:
    match block:
        case {"type": "markdown", "text": str(text)}:
            return 0 < len(text) <= MAX_MARKDOWN
        case {"type": "section", "text": {"type": "plain_text" | "mrkdwn", "text": str(text)}}:
            return 0 < len(text) <= MAX_SECTION
        case {"type": "header", "text": {"type": "plain_text", "text": str(text)}}:
            return 0 < len(text) <= MAX_HEADER
        case {"type": "actions", "elements": [*elements]}:
            return 0 < len(elements) <= MAX_ELEMENTS and all(map(_is_button, elements))
    return False


def _is_button(element: Any) -> bool:
    match element:
        case {"type": "button", "action_id": str(action), "text": {"type": "plain_text", "text": str(label)}}:
            value = str(element.get("value", ""))
            is_short = 0 < len(label) <= MAX_LABEL and 0 < len(action) <= MAX_ID and len(value) <= MAX_VALUE
            return is_short and element.get("style") in _STYLES
    return False


def _is_plain(text: JSON) -> bool:
    return bool(text["type"] == "plain_text")
