"""A text as the content of a Matrix message, and an agent's Markdown in pieces that fit into events."""

import json
import re
from typing import Any

from shared.domain.files import OutFile
from shared.platforms.markdown.clean import clean, neutralise
from shared.platforms.markdown.split import split
from shared.platforms.uploads import posted_name

KEY = "live.handoff.key"
"""The field of a message that holds its key. All messages of the bot have it."""
LIMIT = 12_000
"""Bytes of a text. An event has 65,536 for the text, which JSON may double, its HTML, and what the server adds."""
_HTML_LIMIT = 30_000
_EDIT_SUMMARY = 1_000
# A word joiner: invisible, and no client takes the word for a mention of all people.
_ROOM = re.compile(r"@(?=room\b)", re.IGNORECASE)


def length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def safe(text: str) -> str:
    """The text with valid characters and without mentions."""
    return _ROOM.sub("@\u2060", neutralise(clean(text)))


def pieces(markdown: str) -> list[str]:
    return split(safe(markdown), LIMIT, length)


def content(text: str, *, html: str | None, key: str) -> dict[str, Any]:
    """The content of a message that notifies no one by name. HTML that is too long is left out."""
    made: dict[str, Any] = {"msgtype": "m.text", "body": text, "m.mentions": {}, KEY: key}
    if html and len(json.dumps(html, ensure_ascii=False).encode()) <= _HTML_LIMIT:
        made |= {"format": "org.matrix.custom.html", "formatted_body": html}
    return made


def file_content(file: OutFile, url: str, caption: str, *, key: str) -> dict[str, Any]:
    """A file of the homeserver as the content of a message. Without a caption its name stands in the body."""
    name = posted_name(file.name)
    made = content(caption or name, html=None, key=key)
    info = {"mimetype": file.media_type, "size": file.size}
    return {**made, "msgtype": "m.image" if file.is_picture else "m.file", "filename": name, "url": url, "info": info}


def in_thread(made: dict[str, Any], root: str) -> dict[str, Any]:
    """The message as one of the thread; clients without threads show it as a reply to the root."""
    relation = {"rel_type": "m.thread", "event_id": root, "is_falling_back": True, "m.in_reply_to": {"event_id": root}}
    return {**made, "m.relates_to": relation}


def edited(made: dict[str, Any], message: str) -> dict[str, Any]:
    """An edit of the message; clients that know no edits show its summary."""
    return {
        "msgtype": made["msgtype"],
        "body": f"* {made['body'][:_EDIT_SUMMARY]}",
        "m.mentions": {},
        KEY: made[KEY],
        "m.new_content": made,
        "m.relates_to": {"rel_type": "m.replace", "event_id": message},
    }
