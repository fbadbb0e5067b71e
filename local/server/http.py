"""An ASGI app on a TCP port: uvicorn in a thread."""

import asyncio
import contextlib
import json
import logging
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from typing import Any

import uvicorn
from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from functions.http.guard import Guard, replay
from functions.http.problems import Problem
from local.server.http_connections import Limits, SeldomLog, Traffic
from local.web_pages import REFUSAL, is_other_page
from shared.ports.platforms import Platforms
from shared.services import Services

log = logging.getLogger(__name__)
STOP_SECONDS = 1
"""Requests have so long to end before they are cancelled."""
LIMITS = Limits()
SYNC_THREADS = 4
WRITES = 32
"""At once. anyio has 40 threads, and reads must find one while writes wait for a file that another process has locked."""
SHARE = 4
"""Of the writes, for each platform: those that wait for one that hangs must leave threads to all others."""
MOST_WAITING, MOST_WAITING_BYTES = 256, 4 * 1024 * 1024
"""For the share of one platform. More would keep connections and room from all others, and need no token: webhooks are
verified in a thread. Platforms repeat those that are refused."""
DOCTOR = "/doctor"
_NAMED_IN_BODY = frozenset({"/notices", "/links", "/invitations"})
_HOME = re.compile(r"/platforms/([^/]+)/home")
RECEIVE_BUFFER = 64 * 1024
"""Of the system, for each connection: no client can let it keep more, nor let one read take the loop for long."""
_PLAIN = re.compile(r"[A-Za-z0-9_-]{0,64}")
"""A word or an id. A token is none: a client that puts one into a path must not find it in the log."""


class HttpServer:
    """`def` routes run in threads, because they may wait; `async def` ones on the loop.

    Both get complete requests only. An answer that must outlive a power cut is sent after `sync`. `only_here`: pages of
    other origins are refused. `uploads` takes what is larger than the guard reads.
    """

    def __init__(
        self,
        app: ASGIApp,
        services: Services,
        *,
        sync: Callable[[], None],
        only_here: bool,
        uploads: Callable[[ASGIApp], ASGIApp] = lambda app: app,
        limits: Limits = LIMITS,
    ) -> None:
        self._limits = limits
        self._requests = _Requests(app, sync, Shares(services.platforms))
        config = uvicorn.Config(
            _Edge(uploads(Guard(self._requests, services)), only_here=only_here, most_header_bytes=limits.header_bytes),
            http=Traffic(limits).protocol(),
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
            timeout_keep_alive=limits.idle_seconds,
            timeout_graceful_shutdown=STOP_SECONDS,
            h11_max_incomplete_event_size=limits.header_bytes,
            backlog=limits.backlog,
        )
        self._server = _Server(config)
        self._thread: threading.Thread | None = None
        self.port = 0

    def start(self, host: str, port: int) -> None:
        """Answers when it returns. Raises OSError if the address cannot be used, RuntimeError if the server ends at once."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=self._limits.backlog)
        # asyncio sets it only if it knows the protocol. Without it the body of an answer waits for the client's ACK.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        self.port = listening.getsockname()[1]
        self._thread = threading.Thread(target=self._run, args=(listening,), name="http", daemon=True)
        self._thread.start()
        self._server.has_begun.wait()
        if not self._server.started:
            raise RuntimeError("The HTTP server could not start. The log has the reason.")

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

    def _run(self, listening: socket.socket) -> None:
        with listening:
            try:
                asyncio.run(self._serve(listening))
            finally:
                self._server.has_begun.set()

    async def _serve(self, listening: socket.socket) -> None:
        asyncio.get_running_loop().set_exception_handler(LoopErrors().handle)
        await self._server.serve([listening])
        await self._requests.finish()


class _Server(uvicorn.Server):
    """Says when it has begun to answer, or will never."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.has_begun = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.has_begun.set()


class LoopErrors:
    """Errors outside of requests. asyncio reports a full table of descriptors a thousand times a second."""

    def __init__(self) -> None:
        self._refused = SeldomLog()

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, OSError) and context["message"].startswith("socket.accept()"):
            self._refused.warn("no connection can be accepted now: %s", error.strerror)
        else:
            loop.default_exception_handler(context)


class _Edge:
    """In front of the guard: refuses long headers and pages of other origins, and logs what was asked and answered."""

    def __init__(self, app: ASGIApp, *, only_here: bool, most_header_bytes: int) -> None:
        self._app, self._only_here, self._most_header_bytes = app, only_here, most_header_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), 0
        ended = began

        async def note(message: Message) -> None:
            nonlocal status, ended
            status, ended = message.get("status", status), time.perf_counter()
            await send(message)

        try:
            if _header_bytes(scope) > self._most_header_bytes:  # h11 limits only what arrives in several pieces
                await PlainTextResponse("The headers are too long.", 431)(scope, receive, note)
            elif self._only_here and is_other_page(Headers(scope=scope).get):
                await PlainTextResponse(REFUSAL, HTTPStatus.FORBIDDEN)(scope, receive, note)
            else:
                await self._app(scope, receive, note)
        except asyncio.CancelledError:  # only a stop cancels a request
            if not status:
                detail = "The service stops. Retrying with the same Idempotency-Key is safe."
                await Problem("internal", detail)(scope, receive, note)
        if status and (scope["method"] != "GET" or status >= HTTPStatus.INTERNAL_SERVER_ERROR):  # clients poll
            milliseconds = (ended - began) * 1000
            log.info("%s %s → %d (%.0f ms)", scope["method"], _shown(scope["path"]), status, milliseconds)


class Shares:
    """Requests whose routes may call a platform: of those that wait for the same one, SHARE run at once.

    These are webhooks, homes, and what names a platform in its body. Diagnoses wait for all platforms, up to ten seconds.
    """

    def __init__(self, platforms: Platforms) -> None:
        self._platforms = platforms
        self._shares = {name: Share() for name in (*platforms.known(), DOCTOR, "")}

    def of(self, scope: Scope, body: bytes) -> "Share | None":
        """What the request must hold while it runs; None if it calls no platform."""
        path, method = scope["path"], scope["method"]
        name = self._platforms.webhook_of(path)
        if method == "GET":
            name = DOCTOR if path == DOCTOR else name
        elif method == "PUT" and (home := _HOME.fullmatch(path)):
            name = home[1]
        elif method == "POST" and path in _NAMED_IN_BODY:
            named = _platform_in(body)
            name = named if named in self._shares else ""
        return None if name is None else self._shares.get(name)  # an unknown platform is refused, and never called


class Share:
    """SHARE requests run at once; the others wait, if they are few and small enough."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(SHARE)
        self._waiting = self._bytes = 0

    @contextlib.asynccontextmanager
    async def held(self, size: int) -> AsyncIterator[bool]:
        """Wait for a slot, for a request with a body of this size. False, at once: too many wait."""
        is_full = self._waiting >= MOST_WAITING or self._bytes + size > MOST_WAITING_BYTES
        if self._slots.locked() and is_full:
            yield False
            return
        self._waiting, self._bytes = self._waiting + 1, self._bytes + size
        try:
            await self._slots.acquire()
        finally:
            self._waiting, self._bytes = self._waiting - 1, self._bytes - size
        try:
            yield True
        finally:
            self._slots.release()


def _platform_in(body: bytes) -> str:
    """The platform that a request names; empty if it names none, or cannot be read."""
    try:
        named = json.loads(body)["platform"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return named if isinstance(named, str) else ""


class _Requests:
    """Behind the guard, which turns errors into answers: how long a request runs, and when its answer is sent."""

    def __init__(self, app: ASGIApp, sync: Callable[[], None], shares: Shares) -> None:
        self._app, self._sync, self._shares = app, sync, shares
        self._sync_threads = CapacityLimiter(SYNC_THREADS)  # beside those of the routes, which may all be busy
        self._writes = asyncio.Semaphore(WRITES)
        self._running: set[asyncio.Future[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET" and b"wait=" in scope["query_string"]:
            await self._hold(scope, receive, send)
            return
        body = (await receive()).get("body", b"")
        receive, share = replay(body, receive), self._shares.of(scope, body)
        # A stop cancels those that wait for it.
        async with share.held(len(body)) if share else contextlib.nullcontext(enter_result=True) as may_run:
            if not may_run:
                detail = "Too many requests wait for this platform. Retrying with the same Idempotency-Key is safe."
                await Problem("internal", detail)(scope, receive, send)
                return
            task = self._begin(self._run(scope, receive, send))
            await asyncio.shield(task)  # what a thread has begun goes on to its end, and the database stays open for it

    async def finish(self) -> None:
        """Return when no request is left. Those whose clients were told that the service stops may have threads."""
        while self._running:
            await asyncio.wait(self._running)

    def _begin(self, work: Awaitable[None]) -> asyncio.Future[None]:
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with contextlib.nullcontext() if scope["method"] == "GET" else self._writes:
            await self._app(scope, receive, self._durably(scope, send))

    def _durably(self, scope: Scope, send: Send) -> Send:
        async def send_durably(message: Message) -> None:
            if message["type"] == "http.response.start" and _must_last(scope):
                await to_thread.run_sync(self._sync, limiter=self._sync_threads)
            await send(message)

        return send_durably

    async def _hold(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a read that waits on the loop, unless its client goes away before."""
        answer = self._begin(self._app(scope, replay(b"", receive), self._durably(scope, send)))
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


def _header_bytes(scope: Scope) -> int:
    fields = sum(len(name) + len(value) for name, value in scope["headers"])
    return fields + len(scope["raw_path"]) + len(scope["query_string"])


def _must_last(scope: Scope) -> bool:
    """Whether a power cut must not take back what the answer says: writes, and transcripts, which clients keep."""
    return bool(scope["method"] != "GET" or scope["path"].endswith("/messages"))


def _shown(path: str) -> str:
    return "/".join(piece if _PLAIN.fullmatch(piece) else "…" for piece in path.split("/"))[:200]
