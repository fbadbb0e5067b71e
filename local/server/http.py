"""An ASGI app on a TCP port: uvicorn in a thread."""

import asyncio
import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus

import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from functions.http.guard import Guard, replay
from functions.http.problems import Problem
from local.web_pages import REFUSAL, is_other_page
from shared.services import Services

log = logging.getLogger(__name__)
STOP_SECONDS = 1
"""Requests have so long to end before they are cancelled."""
KEEP_ALIVE_SECONDS = 75
"""Longer than clients keep a connection that they do not use: one that is closed first may lose a request."""
MOST_HEADER_BYTES = 16 * 1024
"""Of a request whose headers have not all arrived."""
SYNC_THREADS = 4
BACKLOG = 1024
"""Connections that wait to be accepted, for clients that all come at once."""


class HttpServer:
    """`def` routes run in threads, because they may wait; `async def` ones on the loop.

    An answer that must outlive a power cut is sent after `sync`. `only_here`: pages of other origins are refused.
    """

    def __init__(self, app: ASGIApp, services: Services, *, sync: Callable[[], None], only_here: bool) -> None:
        self._requests = _Requests(app, sync)
        config = uvicorn.Config(
            _Edge(Guard(self._requests, services), only_here=only_here),
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            headers=[("Server", "handoff")],
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
            h11_max_incomplete_event_size=MOST_HEADER_BYTES,
            backlog=BACKLOG,
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None
        self.port = 0

    def start(self, host: str, port: int) -> None:
        """Listens when it returns. Raises OSError if the address cannot be used."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
        # asyncio sets it only if it knows the protocol. Without it the body of an answer waits for the client's ACK.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = listening.getsockname()[1]
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(listening)), name="http", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Accept nothing more and let requests finish, for a second. A second call does nothing."""
        self._server.should_exit = True
        self.wait_idle(2 * STOP_SECONDS)

    def wait_idle(self, seconds: float) -> bool:
        """After `stop`: wait for the threads of requests; False if some still run."""
        if self._thread is None:
            return True
        self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    async def _serve(self, listening: socket.socket) -> None:
        await self._server.serve([listening])
        await self._requests.finish()


class _Edge:
    """In front of the guard: refuses pages of other origins, and logs what was asked and answered."""

    def __init__(self, app: ASGIApp, *, only_here: bool) -> None:
        self._app, self._only_here = app, only_here

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), 0

        async def note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            if self._only_here and is_other_page(Headers(scope=scope).get):
                await PlainTextResponse(REFUSAL, HTTPStatus.FORBIDDEN)(scope, receive, note)
            else:
                await self._app(scope, receive, note)
        except asyncio.CancelledError:  # only a stop cancels a request
            if not status:
                detail = "The service stops. Retrying with the same Idempotency-Key is safe."
                await Problem("internal", detail)(scope, receive, note)
        if status and (scope["method"] != "GET" or status >= HTTPStatus.INTERNAL_SERVER_ERROR):  # clients poll
            seconds = time.perf_counter() - began
            log.info("%s %s → %d (%.0f ms)", scope["method"], _shown(scope["path"]), status, seconds * 1000)


class _Requests:
    """Behind the guard, which turns errors into answers: how long a request runs, and when its answer is sent."""

    def __init__(self, app: ASGIApp, sync: Callable[[], None]) -> None:
        self._app, self._sync = app, sync
        self._sync_threads = CapacityLimiter(SYNC_THREADS)  # beside those of the routes, which may all be busy
        self._running: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET" and b"wait=" in scope["query_string"]:
            await self._hold(scope, receive, send)
            return
        task = asyncio.create_task(self._run(scope, receive, send))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        await asyncio.shield(task)  # what a thread has begun goes on to its end, and the database stays open for it

    async def finish(self) -> None:
        """Return when no request is left. Those whose clients were told that the service stops may have threads."""
        while self._running:
            await asyncio.wait(self._running)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_durably(message: Message) -> None:
            if message["type"] == "http.response.start" and _must_last(scope):
                await to_thread.run_sync(self._sync, limiter=self._sync_threads)
            await send(message)

        await self._app(scope, receive, send_durably)

    async def _hold(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a read that waits on the loop, unless its client goes away before."""
        answer = asyncio.ensure_future(self._app(scope, replay(b"", receive), send))
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            answer.cancel()  # does nothing if it is done
        with contextlib.suppress(asyncio.CancelledError):
            await answer


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _must_last(scope: Scope) -> bool:
    """Whether a power cut must not take back what the answer says: writes, and transcripts, which clients keep."""
    return bool(scope["method"] != "GET" or scope["path"].endswith("/messages"))


def _shown(path: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in path[:200])
