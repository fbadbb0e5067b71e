"""Messages beside texts that people send to the simulated WhatsApp."""

from typing import Any

JSON = dict[str, Any]
_MEDIA = {"id": "1003383421387256", "sha256": "3f9d94d399ee", "url": "https://lookaside.fbsbx.com/whatsapp/1"}
_CAPTIONED = ("image", "video", "document")
_CONTENTS: dict[str, tuple[str, Any]] = {
    "picture": ("image", {**_MEDIA, "mime_type": "image/jpeg"}),
    "file": ("document", {**_MEDIA, "mime_type": "application/pdf", "filename": "plan.pdf"}),
    "voice": ("audio", {**_MEDIA, "mime_type": "audio/ogg; codecs=opus", "voice": True}),
    "audio": ("audio", {**_MEDIA, "mime_type": "audio/mpeg", "voice": False}),
    "video": ("video", {**_MEDIA, "mime_type": "video/mp4"}),
    "sticker": ("sticker", {**_MEDIA, "mime_type": "image/webp", "animated": False}),
    "location": ("location", {"latitude": 59.91, "longitude": 10.75}),
    "contact": ("contacts", [{"name": {"formatted_name": "Sam", "first_name": "Sam"}, "phones": []}]),
    "poll": ("unsupported", {"type": "poll_creation"}),
}
KINDS = tuple(_CONTENTS)


def attached(kind: str, caption: str) -> JSON:
    """The type and the content of a message with an attachment, and the caption where there can be one."""
    name, content = _CONTENTS[kind]
    if name == "unsupported":
        error = {"code": 131051, "title": "Message type unknown", "message": "Message type unknown"}
        return {"type": name, name: content, "errors": [error]}
    return {"type": name, name: {**content, "caption": caption} if caption and name in _CAPTIONED else content}
