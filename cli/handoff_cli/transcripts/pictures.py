"""Pictures in a tool's transcript: taken out of it, to be uploaded beside its messages."""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MOST = 50
MOST_BYTES = 25_000_000
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}

Entry = dict[str, Any]


@dataclass(frozen=True)
class Picture:
    """The bytes of a picture, and how messages name it."""

    entry: Entry
    content: bytes


def pictures_in(content: Any) -> list[Picture]:
    """The pictures among the parts of a user's message, as Claude Code and Codex store them. What is none is passed over."""
    parts = content if isinstance(content, list) else []
    found = [_picture(*_encoded(part)) for part in parts if isinstance(part, dict)]
    return [picture for picture in found if picture is not None]


def newest(pictures: Iterable[Picture]) -> dict[str, Picture]:
    """The newest ones by their ids."""
    return {picture.entry["id"]: picture for picture in list(pictures)[-MOST:]}


def _encoded(part: Mapping[str, Any]) -> tuple[str, str]:
    """Type and base64 of a part."""
    source = part.get("source")
    if part.get("type") == "image" and isinstance(source, dict) and source.get("type") == "base64":
        return str(source.get("media_type")), str(source.get("data"))
    url = str(part.get("image_url") or "") if part.get("type") == "input_image" else ""
    head, _, data = url.partition(";base64,")
    return head.removeprefix("data:"), data


def _picture(media_type: str, data: str) -> Picture | None:
    if media_type not in _ENDINGS or not data or len(data) > MOST_BYTES * 4 // 3:
        return None
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    digest = hashlib.sha256(content).hexdigest()
    named = {"id": digest, "name": f"picture.{_ENDINGS[media_type]}", "type": media_type}
    return Picture({**named, "size": len(content), "sha256": digest}, content)
