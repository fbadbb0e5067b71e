"""JSON-RPC messages over an agent's stdin and stdout, one per line."""

import asyncio
import json
from typing import Any

LINE_LIMIT = 64 * 1024 * 1024
"""For the stream: one replayed tool result can be far longer than asyncio's limit of 64 KiB."""

Message = dict[str, Any]


class Lines:
    """A transport of the `acp` library. Skips lines that are not JSON objects, and writes none of them to a log."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._writing = asyncio.Lock()

    async def send(self, message: Message) -> None:
        """Raises ConnectionError if the agent is gone."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        async with self._writing:
            self._writer.write(data)
            await self._writer.drain()

    async def receive(self) -> Message | None:
        """The next message; None at the end of the stream."""
        while (line := await self._line()) is not None:
            # Reading from a full buffer does not yield: let the handlers of earlier messages run before they pile up.
            await asyncio.sleep(0)
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                return message
        return None

    async def close(self) -> None:
        """Nothing to do: the process and its streams are ended by their owner."""

    async def _line(self) -> bytes | None:
        """A line, empty if it is over the limit; None at the end of the stream, where half a line may be left."""
        too_long = False
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as error:
                await self._reader.readexactly(error.consumed)
                too_long = True
                continue
            except (asyncio.IncompleteReadError, ConnectionError):
                return None
            return b"" if too_long else line
