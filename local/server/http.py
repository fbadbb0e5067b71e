"""An ASGI app on a TCP port, on an event loop in a thread."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

from aiohttp import web
from multidict import CIMultiDict

from functions.http.problems import Problem, internal_error
from local.server.pool import Pool
from local.web_pages import REFUSAL, is_other_page

log = logging.getLogger(__name__)
App = Callable[..., Any]
START_SECONDS = 10.0
STOP_SECONDS = 1.0
_CUT_SHORT = (ConnectionError, web.RequestPayloadError)
"""What a read of a body raises when the client is gone before its end."""
_SMALL = 64 * 1024
_OF_UNKNOWN_LENGTH = ("Transfer-Encoding", "Content-Encoding")
"""A body with one of these headers may be far larger than its length says; the guard counts it piece by piece."""
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class HttpServer:
    """Requests that only read the store run on the loop; all others in threads, because they may wait.

    Those for handoffs have a pool of their own, `handoffs`, with few threads: of many at once the first ones are then
    opened and with their agents before the last ones are stored. An answer to a request that may have written is sent
    after `sync`. `only_here`: pages of other origins are refused.
    """

    def __init__(self, app: App, pool: Pool, handoffs: Pool, *, sync: Callable[[], None], only_here: bool) -> None:
        self._app, self._pool, self._handoffs, self._sync, self._only_here = app, pool, handoffs, sync, only_here
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="http", daemon=True)
        self._runner: web.ServerRunner | None = None
        self._threads = threading.local()
        self.port = 0

    def start(self, host: str, port: int) -> None:
        """Listens when it returns. Raises OSError if the address cannot be used."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(host, port), self._loop).result(START_SECONDS)

    def stop(self) -> None:
        """Accept nothing more and let requests finish, for some seconds. A second call does nothing."""
        if not self._thread.is_alive():
            return
        if self._runner is not None:
            asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(START_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(1)

    async def _open(self, host: str, port: int) -> None:
        # A client that goes away cancels its request, which may be held.
        server = web.Server(self._handle, handler_cancellation=True, access_log=None, logger=log)
        runner = web.ServerRunner(server, shutdown_timeout=STOP_SECONDS)
        await runner.setup()
        await web.TCPSite(runner, host, port).start()
        self._runner = runner
        self.port = runner.addresses[0][1]

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        began = time.perf_counter()
        exchange = _Exchange(request, self._loop)
        try:
            if self._only_here and is_other_page(request.headers.get):
                exchange.refuse()
            elif _only_reads(request):
                await self._app(exchange.scope, exchange.receive, exchange.send)
            else:
                is_here = await exchange.take_small()
                pool = self._handoffs if is_here and _asks_for_handoff(request) else self._pool
                # Shielded: what a thread has begun goes on to its end, also if the client is gone.
                await asyncio.shield(asyncio.wrap_future(pool.call(lambda: self._run_in_thread(exchange))))
        except Exception as error:  # noqa: BLE001  # the client must get an answer
            exchange.answer(internal_error(error))
        response = exchange.response()
        status, seconds = response.status, time.perf_counter() - began
        if request.method != "GET" or status >= HTTPStatus.INTERNAL_SERVER_ERROR:  # clients poll
            log.info("%s %s → %d (%.0f ms)", request.method, _shown(request.path), status, seconds * 1000)
        return response

    def _run_in_thread(self, exchange: "_Exchange") -> None:
        loop: _ThreadLoop | None = getattr(self._threads, "loop", None)
        if loop is None:
            loop = self._threads.loop = _ThreadLoop()
        loop.runner.run(self._app(exchange.scope, exchange.receive_in_thread, exchange.send))
        self._sync()


class _ThreadLoop:
    """The event loop of a thread, closed when the thread ends."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()

    def __del__(self) -> None:
        self.runner.close()


class _Exchange:
    """One request as an ASGI scope, and its response, collected."""

    def __init__(self, request: web.BaseRequest, loop: asyncio.AbstractEventLoop) -> None:
        self._request, self._loop = request, loop
        self._is_awaited = request.headers.get("expect", "").lower() == "100-continue"
        self._status = 500
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._arrived: bytes | None = None
        peer = request.transport.get_extra_info("peername") if request.transport else None
        self.scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": f"{request.version.major}.{request.version.minor}",
            "method": request.method,
            "scheme": "http",
            "path": unquote(request.rel_url.raw_path),
            "raw_path": request.rel_url.raw_path.encode(),
            "query_string": request.rel_url.raw_query_string.encode(),
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in request.raw_headers],
            "client": tuple(peer[:2]) if peer else None,
            "server": None,
        }

    async def take_small(self) -> bool:
        """Wait for a small body here, so that no thread has to. False: it may be large, or it was cut short."""
        request = self._request
        if (request.content_length or 0) <= _SMALL and not any(name in request.headers for name in _OF_UNKNOWN_LENGTH):
            with contextlib.suppress(*_CUT_SHORT):
                self._arrived = await request.content.read() if not self._is_awaited else None
        return self._arrived is not None

    async def receive(self) -> dict[str, Any]:
        """The next piece of the body, on the server's loop."""
        content = self._request.content
        if self._is_awaited and self._request.transport:
            self._is_awaited = False
            self._request.transport.write(_CONTINUE)
        try:
            piece = await content.readany()
        except _CUT_SHORT:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": not content.at_eof()}

    async def receive_in_thread(self) -> dict[str, Any]:
        if self._arrived is not None:
            return {"type": "http.request", "body": self._arrived, "more_body": False}
        if not self._request.can_read_body:
            return {"type": "http.request", "body": b"", "more_body": False}
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.receive(), self._loop))

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], list(message.get("headers", ()))
        else:
            self._body.append(message.get("body", b""))

    def answer(self, problem: Problem) -> None:
        """Replace whatever was collected."""
        self._status, self._headers, self._body = problem.status_code, problem.raw_headers, [bytes(problem.body)]

    def refuse(self) -> None:
        self._status, self._headers, self._body = 403, [(b"content-type", b"text/plain")], [REFUSAL.encode()]

    def response(self) -> web.Response:
        headers = CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in self._headers)
        headers["Server"] = "handoff"
        response = web.Response(status=self._status, headers=headers, body=b"".join(self._body))
        if not self._request.content.at_eof():
            response.force_close()  # the rest of the body is still on its way
        return response


def _only_reads(request: web.BaseRequest) -> bool:
    """Whether it takes microseconds: what clients poll. Transcripts are large, and `/doctor` asks platforms."""
    return request.method == "GET" and not request.path.endswith(("/messages", "/doctor"))


def _asks_for_handoff(request: web.BaseRequest) -> bool:
    """Whether it waits for nothing but the disk."""
    return request.method == "POST" and request.path == "/handoffs"


def _shown(path: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in path[:200])
