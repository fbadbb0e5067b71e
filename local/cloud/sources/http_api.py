"""An HTTP API as an event source: a server on loopback that converts requests to events and results to responses."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

from local.cloud.invoke import Invoker
from local.cloud.sources.http_answer import FAILED, FORBIDDEN, NOT_FOUND, TOO_LARGE, UNAVAILABLE, Answer, http_answer
from local.cloud.sources.http_event import Request, http_event
from local.cloud.sources.routing import Match, Router
from local.cloud.stack import Route
from local.web_pages import is_other_page

LOG = logging.getLogger(__name__)
BODY_LIMIT = 10 * 1024 * 1024
INTEGRATION_SECONDS = 30.0
MOST_AT_ONCE = 64
CLOSING_SECONDS = 0.5

OnAnswer = Callable[[str, str, int, float], None]  # method, path, status, seconds


class HttpApi:
    """Serves from `start` to `stop`. Port 0 takes a free one; `url` is valid after `start`.

    `on_answer(method, path, status, seconds)` is called for each request, without query, headers or bodies.
    """

    def __init__(
        self,
        routes: Iterable[Route],
        invoker: Invoker,
        *,
        port: int = 0,
        account: str,
        integration_seconds: float = INTEGRATION_SECONDS,
        now: Callable[[], float] = time.time,
        on_answer: OnAnswer | None = None,
    ) -> None:
        self._router = Router(routes)
        self._invoker = invoker
        self.port = port
        self._account = account
        self._seconds = integration_seconds
        self._now = now
        self._on_answer = on_answer or (lambda *_: None)
        self._calls = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="http call")
        self._loop = asyncio.new_event_loop()
        self._runner: web.ServerRunner | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, name="http api", daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Return when requests are accepted. Raises OSError if the port is taken."""
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        except OSError:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop listening; requests in progress get half a second. May be called twice."""
        if self._loop.is_closed():
            return
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop.close()
        self._calls.shutdown(wait=False, cancel_futures=True)

    async def _open(self) -> None:
        # API Gateway does not decompress bodies.
        server = web.Server(self._handle, access_log=None, auto_decompress=False)
        self._runner = web.ServerRunner(server, shutdown_timeout=CLOSING_SECONDS)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]

    async def _close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        began = time.perf_counter()
        answer, complete = await self._answer(incoming)
        response = web.Response(status=answer.status, body=answer.body, headers=CIMultiDict(answer.headers))
        if not complete:
            response.force_close()  # the rest of the body is still on its way
        self._report(incoming.method, incoming.path, answer.status, time.perf_counter() - began)
        return response

    def _report(self, method: str, path: str, status: int, seconds: float) -> None:
        try:
            self._on_answer(method, path, status, seconds)
        except Exception:  # must not fail the request
            LOG.exception("on_answer failed")

    async def _answer(self, incoming: web.BaseRequest) -> tuple[Answer, bool]:
        """Return the answer, and whether the request was read to its end."""
        if is_other_page(incoming.headers.get):
            return FORBIDDEN, False
        request = await self._read(incoming)
        if request is None:
            return TOO_LARGE, False
        match = self._router.match(request.method, request.path)
        if match is None:
            return NOT_FOUND, True
        call = self._loop.run_in_executor(self._calls, self._call, request, match)
        try:
            return await asyncio.wait_for(asyncio.shield(call), self._seconds), True
        except TimeoutError:
            return UNAVAILABLE, True

    def _call(self, request: Request, match: Match) -> Answer:
        event = http_event(request, match, account=self._account, now=self._now())
        try:
            result = self._invoker.invoke(match.function, event)
            if result.error is not None:  # without its message, which may quote what people wrote
                LOG.error("%s failed: %s%s", match.function, result.error.get("errorType"), _frames(result.error))
            return http_answer(result)
        except Exception:  # the client must get an answer
            LOG.exception("%s could not be invoked", match.function)
            return FAILED

    async def _read(self, incoming: web.BaseRequest) -> Request | None:
        """Return the request, or None if its body is over the limit."""
        body = bytearray()
        async for chunk in incoming.content.iter_any():
            body += chunk
            if len(body) > BODY_LIMIT:
                return None
        peer: Any = incoming.transport.get_extra_info("peername") if incoming.transport else None
        return Request(
            method=incoming.method,
            target=_clean(incoming.raw_path),
            headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in incoming.raw_headers),
            body=bytes(body),
            source_ip=peer[0] if peer else "127.0.0.1",
            port=self.port,
            protocol=f"HTTP/{incoming.version.major}.{incoming.version.minor}",
        )


def _clean(target: str) -> str:
    """Replace bytes that are not UTF-8: JSON cannot carry them."""
    return target.encode(errors="surrogateescape").decode(errors="replace")


def _frames(error: Mapping[str, Any]) -> str:
    return "".join(f"\n{frame}" for frame in error.get("stackTrace") or ())
