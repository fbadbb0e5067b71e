"""Messages packed into compressed chunks that fit an item."""

import json
import zlib
from collections.abc import Sequence

from shared.domain.messages import Message

MAX_CHUNK_BYTES = 350 * 1024
_RAW_TARGET = 1024 * 1024  # compressed at once; text shrinks to a quarter or less


def pack(messages: Sequence[Message]) -> list[tuple[int, bytes]]:
    """Split messages into runs and compress each: (how many, the bytes). No chunk is over the limit."""
    chunks: list[tuple[int, bytes]] = []
    run: list[bytes] = []
    size = 0
    for message in messages:
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        if run and size + len(line) > _RAW_TARGET:
            chunks += _fit(run)
            run, size = [], 0
        run.append(line)
        size += len(line) + 1
    return chunks + (_fit(run) if run else [])


def unpack(data: bytes) -> list[Message]:
    """The messages of one chunk."""
    text = zlib.decompress(data).decode("utf-8", "surrogatepass")
    return [json.loads(line) for line in text.split("\n")]


def _fit(lines: list[bytes]) -> list[tuple[int, bytes]]:
    data = zlib.compress(b"\n".join(lines), level=6)
    if len(data) <= MAX_CHUNK_BYTES or len(lines) == 1:
        return [(len(lines), data)]
    middle = len(lines) // 2
    return _fit(lines[:middle]) + _fit(lines[middle:])
