"""Uploads of files: streamed to the disk past the guard, which reads whole bodies, by URLs that the service has signed."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from functions.http.problems import Problem, internal_error, problem_of
from local.server.http_connections import STREAMED
from shared.errors import FileMismatch, RequestRefused
from shared.ports.clock import Clock
from shared.sqlite.files import UPLOADS, DirectoryFiles, Incoming

AT_ONCE = 16
"""Each holds one piece of its file, and a thread while that is written."""
MOST_WAITING = 64
PIECE = 256 * 1024
Result = TypeVar("Result")


class Uploads:
    """ASGI middleware. An upload needs no token: its URL is the right to store one file, for a few minutes."""

    def __init__(self, app: ASGIApp, files: DirectoryFiles, clock: Clock) -> None:
        self._app, self._files, self._clock = app, files, clock
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._threads = CapacityLimiter(4)  # beside those of the routes
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(UPLOADS):
            await self._app(scope, receive, send)
            return
        try:
            response = await self._answer(scope, receive)
        except RequestRefused as refused:
            response = problem_of(refused)
        except Exception as error:  # noqa: BLE001  # the outermost handler of this path
            response = internal_error(error)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        if scope["method"] != "PUT":
            return Problem("method_not_allowed", "Only PUT stores a file.")
        key, size = self._files.announced(scope["path"], now=self._clock.now())
        if Headers(scope=scope).get("content-length") != str(size):
            raise FileMismatch
        if self._waiting >= MOST_WAITING:
            return Problem("storage_unavailable", "Too many uploads wait. Nothing was stored. Try again.")
        scope[STREAMED] = True
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            return await self._store(key, size, receive)
        finally:
            self._slots.release()

    async def _store(self, key: str, size: int, receive: Receive) -> Response:
        with contextlib.ExitStack() as stack:
            incoming: Incoming = await self._run(lambda: stack.enter_context(self._files.incoming(key, size=size)))
            piece, more = bytearray(), True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise FileMismatch
                piece += message.get("body", b"")
                more = message.get("more_body", False)
                if piece and (len(piece) >= PIECE or not more):
                    written = bytes(piece)
                    piece.clear()
                    await self._run(lambda: incoming.write(written))  # noqa: B023  # run before the next one
            await self._run(incoming.finish)
        return Response(status_code=204)

    async def _run(self, work: Callable[[], Result]) -> Result:
        return await to_thread.run_sync(work, limiter=self._threads)
