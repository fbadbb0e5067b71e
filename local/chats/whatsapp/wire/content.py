"""Checks the body of a message as the Cloud API does, and reads its text and buttons."""

from collections.abc import Mapping, Sequence
from typing import Any

from local.chats.simulator.store import Button
from local.chats.whatsapp.wire.errors import invalid, missing

_TEXT, _REPLY_BODY, _CAPTION = 4096, 1024, 1024


def content_of(body: Mapping[str, Any]) -> tuple[str, list[Button]]:
    """The text and the buttons of a message. Raises GraphError."""
    if body.get("messaging_product") != "whatsapp":
        raise missing("messaging_product")
    if not isinstance(body.get("to"), str) or not body["to"]:
        raise missing("to")
    if len(body.get("biz_opaque_callback_data") or "") > 512:
        raise invalid("biz_opaque_callback_data is too long. Max length: 512")
    kind = body.get("type", "text")
    if kind == "text":
        return _text((body.get("text") or {}).get("body"), _TEXT, "text['body']"), []
    if kind == "interactive":
        return _interactive(body.get("interactive") or {})
    if kind in ("image", "document"):
        caption = (body.get(kind) or {}).get("caption") or ""
        return (_text(caption, _CAPTION, "caption") if caption else ""), []
    raise invalid(f"type {kind!r} is not simulated")


def _text(text: object, limit: int, name: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise missing(name)
    if len(text.encode("utf-16-le")) // 2 > limit:
        raise invalid(f"Param {name} must be at most {limit} characters long.")
    return text


def _interactive(given: Mapping[str, Any]) -> tuple[str, list[Button]]:
    action, body = given.get("action") or {}, (given.get("body") or {}).get("text")
    if given.get("type") == "button":
        replies = [button.get("reply") or {} for button in action.get("buttons") or ()]
        return _text(body, _REPLY_BODY, "body['text']"), _choices(replies, "buttons", most=3, title=20, key=256)
    if given.get("type") == "list":
        _text(action.get("button"), 20, "action['button']")
        rows = [row for section in action.get("sections") or () for row in section.get("rows") or ()]
        return _text(body, _TEXT, "body['text']"), _choices(rows, "rows", most=10, title=24, key=200)
    raise invalid("interactive['type'] must be one of {BUTTON, LIST}")


def _choices(given: Sequence[Mapping[str, Any]], name: str, *, most: int, title: int, key: int) -> list[Button]:
    if not 1 <= len(given) <= most:
        raise invalid(f"Invalid {name} count. Min allowed {name}: 1, Max allowed {name}: {most}")
    for choice in given:
        _text(choice.get("title"), title, f"{name} title")
        _text(choice.get("id"), key, f"{name} id")
    for field in ("id", "title"):
        if len({choice[field] for choice in given}) < len(given):
            raise invalid(f"Duplicated {name} {field}")
    return [{"id": choice["id"], "label": choice["title"], "style": "default"} for choice in given]
