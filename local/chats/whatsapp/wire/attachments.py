"""Messages beside texts that people send to the simulated WhatsApp."""

from collections.abc import Mapping
from typing import Any

from local.chats.simulator.store import Beside

JSON = dict[str, Any]
_CAPTIONED = ("image", "video", "document")
_FILES = {"picture": "image", "file": "document", "voice": "audio", "audio": "audio", "video": "video"}
_CONTENTS: dict[str, tuple[str, Any]] = {
    "sticker": (
        "sticker",
        {"id": "1003383421387256", "sha256": "3f9d94d399ee", "mime_type": "image/webp", "animated": False},
    ),
    "location": ("location", {"latitude": 59.91, "longitude": 10.75}),
    "contact": ("contacts", [{"name": {"formatted_name": "Sam", "first_name": "Sam"}, "phones": []}]),
    "poll": ("unsupported", {"type": "poll_creation"}),
}
KINDS = (*_FILES, *_CONTENTS)


def content_beside(beside: Beside, caption: str) -> JSON:
    """The type and the content of a message with one file or attachment, and the caption where there can be one."""
    if beside.files:
        (file,) = beside.files
        name, content = _FILES.get(file["kind"], "document"), media(file)
        if name == "audio":
            content["voice"] = file["kind"] == "voice"
    else:
        name, content = _CONTENTS[beside.attachments[0]]
    if name == "unsupported":
        error = {"code": 131051, "title": "Message type unknown", "message": "Message type unknown"}
        return {"type": name, name: content, "errors": [error]}
    return {"type": name, name: {**content, "caption": caption} if caption and name in _CAPTIONED else content}


def media(file: Mapping[str, Any]) -> JSON:
    """A file in a webhook."""
    named = {"filename": file["name"]} if _FILES.get(file["kind"], "document") == "document" else {}
    return {"id": file["id"], "sha256": file["sha256"], "mime_type": file["type"], **named}
