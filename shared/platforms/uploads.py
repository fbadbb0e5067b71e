"""Files that a bot posts: their bytes as a stream for HTTP clients, their names and their captions."""

import io
import os
import re
from collections.abc import Callable, Iterator

from shared.domain.files import OutFile
from shared.ports.platforms import Capabilities, Part

SECONDS = 25.0
"""For the upload of one file."""
_LONGEST_NAME = 120
_MEDIA_TYPE = re.compile(r"[a-z]{1,20}/[A-Za-z0-9.+_-]{1,100}")
_BESIDE_WORDS = '/\\:*?"<>|'


class FileReader(io.RawIOBase):
    """The bytes of a file for clients that read and seek, never all of them in memory."""

    def __init__(self, file: OutFile) -> None:
        self._file = file
        self._at = 0
        self._chunks: Iterator[bytes] | None = None
        self._left = b""

    @property
    def size(self) -> int:
        return self._file.size

    @property
    def media_type(self) -> str:
        """One that can stand in a header."""
        return self._file.media_type if _MEDIA_TYPE.fullmatch(self._file.media_type) else "application/octet-stream"

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """To the start or to the end: clients ask for the length this way, and begin again."""
        at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        if at != self._at and at not in (0, self.size):
            raise io.UnsupportedOperation("only the start and the end can be sought")
        if at == 0:
            self._chunks, self._left = None, b""
        self._at = at
        return at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what callers pass
        if self._at and self._chunks is None:
            return 0  # at the end, where a client asked for the length
        self._chunks = self._chunks or self._file.read()
        while not self._left:
            try:
                self._left = next(self._chunks)
            except StopIteration:
                return 0
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        self._at += count
        return count


def posted_name(name: str) -> str:
    """A name that every platform takes: of a file, never of a path, printable, and with its extension."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    shown = "".join(" " if sign in _BESIDE_WORDS or not sign.isprintable() else sign for sign in last)
    stem, dot, extension = " ".join(shown.split()).rpartition(".")
    if not stem or len(extension) > _LONGEST_NAME // 4:
        stem, dot, extension = " ".join(shown.split()).lstrip("."), "", ""
    return f"{stem[: _LONGEST_NAME - len(dot + extension)].strip()}{dot}{extension}" or "file"


def caption_of(caption: Part | None, can: Capabilities) -> str:
    """The text of a caption, cut to what fits below a file; the caller posts the rest as a message."""
    text = caption.text if caption is not None else ""
    return cut(text, can.caption_limit, can.length)


def cut(text: str, limit: int, length: Callable[[str], int]) -> str:
    """The longest beginning of the text with at most this length."""
    shown = text[:limit]
    while length(shown) > limit:
        shown = shown[: -max((length(shown) - limit) // 4, 1)]
    return shown
