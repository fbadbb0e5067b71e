"""Files in the simulated chats: what people and bots sent, and how a bot's download of one is answered."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from local.chats.simulator.faults import Fault
from shared.domain.attachments import kind_of_media

JSON = dict[str, Any]
MOST_BYTES = 512 * 2**20
"""Of all files together. The oldest are forgotten first; as after a restart, their messages then stay without them."""
_PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080200000090"
    "7753de0000000c49444154789c63f8cfc000000301010018dd8db00000000049454e44ae426082"
)
SAMPLES: Mapping[str, tuple[str, str, bytes]] = {
    "picture": ("plan.png", "image/png", _PICTURE),
    "file": ("plan.pdf", "application/pdf", b"%PDF-1.4\nplan\n%%EOF\n"),
    "voice": ("voice.ogg", "audio/ogg", b"OggS voice"),
    "audio": ("song.mp3", "audio/mpeg", b"ID3 song"),
    "video": ("clip.mp4", "video/mp4", b"ftyp clip"),
    "animation": ("wave.mp4", "video/mp4", b"ftyp wave"),
}
"""A file of each kind: name, type and bytes."""
Wrap = Callable[[bytes | None], bytes]
"""Makes the body of an answer from a file, or from none."""
PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in</body></html>"
ELSEWHERE = "http://127.0.0.1:9/elsewhere"


@dataclass(frozen=True)
class SentFile:
    """A file in a form of a bot."""

    name: str
    type: str
    data: bytes = field(repr=False)

    @property
    def size(self) -> int:
        return len(self.data)


async def form_of(request: web.Request) -> JSON:
    """The fields of a form; a file as SentFile."""

    def read(value: Any) -> Any:
        is_file = isinstance(value, web.FileField)
        return SentFile(value.filename, value.content_type, value.file.read()) if is_file else value

    return {name: read(value) for name, value in (await request.post()).items()}


class FileStore:
    """Bytes by id. A message holds what describes its file."""

    def __init__(self, first: int) -> None:
        """Later runs have other ids if they begin with a greater number."""
        self._number = first
        self._content: dict[str, bytes] = {}
        self._size = 0

    def keep(self, name: str, media_type: str, data: bytes, *, kind: str | None = None) -> JSON:
        """Keep a file and return its description, as it is in messages and in the state."""
        self._number += 1
        self._content[str(self._number)] = data
        self._size += len(data)
        while self._size > MOST_BYTES:
            self._size -= len(self._content.pop(next(iter(self._content))))
        return {
            "id": str(self._number),
            "kind": kind or kind_of_media(media_type),
            "name": name,
            "type": media_type,
            "size": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }

    def content(self, file_id: str) -> bytes | None:
        return self._content.get(file_id)


def state_of(file: Mapping[str, Any]) -> JSON:
    """What the state tells of a file."""
    return {name: file[name] for name in ("name", "type", "size", "sha256")}


async def serve(
    request: web.Request, data: bytes | None, media_type: str, fault: Fault | None, wrap: Wrap | None
) -> web.StreamResponse:
    """Answer a download, or one that a fault meets."""
    kind, headers = (fault.kind if fault else ""), {"Content-Type": media_type or "application/octet-stream"}
    if kind == "longer":
        data = data and data * 2 + b"!"
    if wrap is not None:
        data = wrap(None if kind == "gone" else data)
    elif data is None or kind == "gone":
        return web.Response(status=404, text="Not Found")
    if kind == "redirect":
        return web.Response(status=302, headers={"Location": ELSEWHERE})
    if kind == "page":
        return web.Response(body=PAGE, content_type="text/html")
    if kind == "encoded":
        return web.Response(body=data, headers={**headers, "Content-Encoding": "br"})
    if kind not in ("cut", "longer"):
        return web.Response(body=data, headers=headers)
    response = web.StreamResponse(headers=headers)  # in chunks, without a length
    await response.prepare(request)
    await response.write(data if kind == "longer" else data[: len(data) // 2])
    if kind == "cut" and request.transport is not None:
        request.transport.abort()
    return response
