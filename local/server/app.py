"""All calls of the API as one ASGI app: `/health` at once, those of a handoff and the others as soon as they are loaded."""

import asyncio
import threading
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from functions.http.guard import Guard
from functions.http.problems import Json
from local.server.pool import Pool
from shared.services import Services


def _handoff_calls(services: Services, others: ASGIApp) -> ASGIApp:
    from local.server.handoff_calls import HandoffCalls  # noqa: PLC0415  # it is slow, see `App`

    return HandoffCalls(services, others)


def _all_routes(services: Services) -> ASGIApp:
    from local.server.routes import all_routes  # noqa: PLC0415  # it is slow, see `App`

    return all_routes(services)


class App:
    """The HTTP API and the webhooks with these services.

    pydantic and FastAPI take half of the time until a service is ready, so they are imported after that: by `load`, or by
    the first request that needs them. A handoff needs only pydantic.
    """

    def __init__(
        self,
        services: Services,
        *,
        calls: Callable[[Services, ASGIApp], ASGIApp] = _handoff_calls,
        routes: Callable[[Services], ASGIApp] = _all_routes,
    ) -> None:
        """`calls` gives those of a handoff, which leave others to the `routes`."""

        def load_routes() -> ASGIApp:
            self._calls.load()  # a handoff must not wait for FastAPI, and its models are built before FastAPI defers that
            return routes(services)

        self._routes = Late("routes", load_routes)
        self._calls = Late("calls", lambda: calls(services, self._routes))
        self._guarded = Guard(self._route, services)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._guarded(scope, receive, send)

    def load(self) -> None:
        """Import everything. Idempotent; concurrent calls wait for the first one.

        After an error every request fails, also `/health`: a service must not look sound that answers a part of them.
        """
        self._routes.load()

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._calls.has_failed or self._routes.has_failed:
            await self._routes(scope, receive, send)
        elif (scope["method"], scope["path"], scope["query_string"]) == ("GET", "/health", b""):
            await Json({"status": "ok"})(scope, receive, send)
        else:
            await self._calls(scope, receive, send)


class Late:
    """An app that is loaded once, by the first that needs it. An error is final."""

    def __init__(self, name: str, load: Callable[[], ASGIApp]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._loader = Pool(1, name, idle_seconds=0)
        self._app: ASGIApp | None = None
        self._failure: Exception | None = None

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    def load(self) -> ASGIApp:
        with self._lock:
            if self._failure is not None:
                raise self._failure.with_traceback(None)  # or it would grow with each request
            if self._app is None:
                try:
                    self._app = self._load()
                except Exception as error:
                    self._failure = error
                    raise
            return self._app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if app is None:
            # Shielded: the others wait for it, too, if this client is gone.
            app = await asyncio.shield(asyncio.wrap_future(self._loader.call(self.load)))
        await app(scope, receive, send)
