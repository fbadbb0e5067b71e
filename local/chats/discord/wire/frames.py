"""One Gateway connection on the wire: compression, sending in order, closing."""

import asyncio
import importlib
import json
import zlib
from collections.abc import Callable
from typing import Any

from aiohttp import web

Compress = Callable[[bytes], bytes]


def compressor(name: str | None) -> Compress | None:
    """How to pack each message for a client that asked for `name`; None sends plain text."""
    if name == "zlib-stream":
        stream = zlib.compressobj()
        return lambda data: stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)
    if name == "zstd-stream":
        return _zstd()
    return None


def _zstd() -> Compress:
    """Asked for only by a client that can unpack it, so one of the two is there: Python's own, or the package."""
    try:
        own = importlib.import_module("compression.zstd")
    except ImportError:
        package = importlib.import_module("zstandard")
        stream = package.ZstdCompressor().compressobj()
        return lambda data: bytes(stream.compress(data) + stream.flush(package.COMPRESSOBJ_FLUSH_BLOCK))
    packer = own.ZstdCompressor()
    return lambda data: bytes(packer.compress(data, packer.FLUSH_BLOCK))


class Connection:
    """Sends what is queued in order; the sender never waits for a slow reader."""

    def __init__(self, socket: web.WebSocketResponse, compress: Compress | None) -> None:
        self.ended_here = False
        self._socket, self._compress = socket, compress
        self._queue: asyncio.Queue[dict[str, Any] | int] = asyncio.Queue()
        self._writer = asyncio.get_running_loop().create_task(self._write())

    def send(self, frame: dict[str, Any]) -> None:
        self._queue.put_nowait(frame)

    async def close(self, code: int = 4000) -> None:
        """Closes once everything queued so far is sent."""
        self.ended_here = True
        self._queue.put_nowait(code)
        await asyncio.wait((self._writer,))

    async def _write(self) -> None:
        while True:
            item = await self._queue.get()
            try:
                if isinstance(item, int):
                    await self._socket.close(code=item)
                    return
                text = json.dumps({"t": None, "s": None, **item}, ensure_ascii=False)
                if self._compress is None:
                    await self._socket.send_str(text)
                else:
                    await self._socket.send_bytes(self._compress(text.encode()))
            except ConnectionError:
                return  # the bot is gone: its session keeps what it missed
