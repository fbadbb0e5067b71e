"""One Gateway connection: compression, sending in order, closing."""

import asyncio
import importlib
import json
import zlib
from collections.abc import Callable
from typing import Any

from aiohttp import web

Compress = Callable[[bytes], bytes]


def compressor(name: str | None) -> Compress | None:
    """The compression that a client asked for; None sends plain text."""
    if name == "zlib-stream":
        stream = zlib.compressobj()
        return lambda data: stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)
    if name == "zstd-stream":
        return _zstd()
    return None


def _zstd() -> Compress:
    """Requested only by a client that has it, so Python's module or the package is installed."""
    try:
        own = importlib.import_module("compression.zstd")
    except ImportError:
        package = importlib.import_module("zstandard")
        stream = package.ZstdCompressor().compressobj()
        return lambda data: bytes(stream.compress(data) + stream.flush(package.COMPRESSOBJ_FLUSH_BLOCK))
    packer = own.ZstdCompressor()
    return lambda data: bytes(packer.compress(data, packer.FLUSH_BLOCK))


class Connection:
    """Sends queued frames in order; the sender does not wait for a slow reader."""

    def __init__(self, socket: web.WebSocketResponse, compress: Compress | None) -> None:
        self.closed_by_server = False
        self._socket, self._compress = socket, compress
        self._queue: asyncio.Queue[dict[str, Any] | int] = asyncio.Queue()
        self._writer = asyncio.get_running_loop().create_task(self._write())

    def send(self, frame: dict[str, Any]) -> None:
        self._queue.put_nowait(frame)

    async def close(self, code: int = 4000) -> None:
        """Closes once everything queued so far is sent."""
        self.closed_by_server = True
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
                return  # the bot disconnected: its session keeps the events
