"""Requests of this user's commands to the runner of the machine, over a socket in its directory.

Each connection is one line of JSON, `{"verb": …}`, and one line as the answer. Any tool of an agent can connect, so no
verb may do more than the user's own programs can.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from handoff_cli.runner.machine.ask_runner import LONGEST_LINE, NAME, address

_SECONDS = 30.0

Json = dict[str, Any]
Verb = Callable[[Json], Awaitable[Json]]


class Channel:
    """The runner's end. The directory is closed to other users."""

    def __init__(self, state: Path, verbs: Mapping[str, Verb]) -> None:
        self._state, self._verbs = state, verbs
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen. A runner whose channel cannot be opened works without it."""
        with suppress(OSError), address(self._state) as path:
            # This is the only runner of the machine: a socket that is there was left by an earlier one.
            (self._state / NAME).unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._serve, path, limit=LONGEST_LINE)
            (self._state / NAME).chmod(0o600)

    async def close(self) -> None:
        """Idempotent."""
        if self._server is not None:
            self._server.close()
            (self._state / NAME).unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, TimeoutError):
            async with asyncio.timeout(_SECONDS):
                request = json.loads(await reader.readline())
            verb = self._verbs.get(str(request.get("verb"))) if isinstance(request, dict) else None
            # A verb takes its own time: some wait for a person.
            answer = await verb(request) if verb else {"error": "unknown verb"}
            async with asyncio.timeout(_SECONDS):
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
