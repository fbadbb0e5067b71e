"""A part as the body of a message to WhatsApp: text, up to three reply buttons, or a list of up to ten choices."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.platforms.markdown.clean import title as as_title
from shared.platforms.markdown.split import utf16
from shared.ports.platforms import Button, Part

MOST_BUTTONS = 10
"""Rows of a list. Up to three are shown as buttons."""
_REPLY_BUTTONS = 3
_REPLY_TITLE, _ROW_TITLE = 20, 24
_REPLY_BODY = 1024
"""The longest text above reply buttons; above a list it is that of a text message."""
_KEY_LIMIT = 512
_QUOTED_LIMIT = 1000

Body = dict[str, Any]


def message(chat: str, part: Part, key: str) -> Body:
    """The part for a chat. A key that is too long is left out: then no receipt leads back to the part."""
    shown = part.buttons[:MOST_BUTTONS]
    if not shown:
        content: Body = {"type": "text", "text": {"body": part.text, "preview_url": False}}
    elif len(shown) <= _REPLY_BUTTONS and utf16(part.text) <= _REPLY_BODY:
        replies = [{"type": "reply", "reply": reply} for reply in _choices(shown, _REPLY_TITLE)]
        content = _interactive("button", part.text, {"buttons": replies})
    else:
        content = _interactive(
            "list", part.text, {"button": "Choose", "sections": [{"rows": _choices(shown, _ROW_TITLE)}]}
        )
    return {**_to(chat), **content, **_tracking(key)}


def file_message(chat: str, kind: str, shown: Mapping[str, str], key: str) -> Body:
    """An uploaded file as an `image` or as a `document`. Of what is `shown`, empty fields are left out."""
    shown = {name: value for name, value in shown.items() if value}
    return {**_to(chat), "type": kind, kind: shown, **_tracking(key)}


def _tracking(key: str) -> Body:
    return {"biz_opaque_callback_data": key} if len(key) <= _KEY_LIMIT else {}


def quoting(chat: str, message_id: str, text: str) -> Body:
    """A text in reply to a message of the person."""
    body = {"body": as_title(text, _QUOTED_LIMIT), "preview_url": False}
    return {**_to(chat), "context": {"message_id": message_id}, "type": "text", "text": body}


def _to(chat: str) -> Body:
    return {"messaging_product": "whatsapp", "recipient_type": "individual", "to": chat}


def _interactive(kind: str, text: str, action: Body) -> Body:
    return {"type": "interactive", "interactive": {"type": kind, "body": {"text": text}, "action": action}}


def _choices(buttons: Sequence[Button], limit: int) -> list[Body]:
    """WhatsApp refuses equal titles, and cutting may make them equal: then they are numbered."""
    titles = [as_title(button.label, limit, utf16) for button in buttons]
    if len(set(titles)) < len(titles):
        titles = [as_title(f"{number} {button.label}", limit, utf16) for number, button in enumerate(buttons, start=1)]
    return [{"id": button.id, "title": title} for button, title in zip(buttons, titles, strict=True)]
