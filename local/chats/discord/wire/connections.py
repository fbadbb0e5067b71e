"""One client's connection to the Gateway: hello, heartbeats, and frames sent in order."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import WSMsgType, web

JSON = dict[str, Any]
HEARTBEAT, HELLO, ACK = 1, 10, 11
HEARTBEAT_MS = 41_250


class Connection:
    """Sends queued frames in order; the sender does not wait for a slow reader. Frames are never compressed."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.closed_by_server = False
        self._socket = socket
        self._queue: asyncio.Queue[JSON | int] = asyncio.Queue()
        self._writer = asyncio.get_running_loop().create_task(self._write())
        self.send({"op": HELLO, "d": {"heartbeat_interval": HEARTBEAT_MS, "_trace": []}})

    async def received(self) -> AsyncIterator[JSON]:
        """The frames of the client; heartbeats are answered here."""
        async for message in self._socket:
            if message.type == WSMsgType.TEXT:
                frame: JSON = json.loads(message.data)
                if frame["op"] == HEARTBEAT:
                    self.send({"op": ACK, "d": None})
                else:
                    yield frame

    @property
    def is_over(self) -> bool:
        """A client that closes with 1000 or 1001 ends its session; after any other code it can be resumed."""
        return not self.closed_by_server and self._socket.close_code in (1000, 1001)

    def send(self, frame: JSON) -> None:
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
                await self._socket.send_str(json.dumps({"t": None, "s": None, **item}, ensure_ascii=False))
            except ConnectionError:
                return  # the bot disconnected: its session keeps the events
