"""All calls of the API as one ASGI app: `/health` at once, those of a handoff and the others as soon as they are loaded."""

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

from functions.http.guard import Guard
from functions.http.problems import Json
from local.server.pool import Pool
from shared.services import Services

T = TypeVar("T")


class App:
    """The HTTP API and the webhooks with these services.

    pydantic and FastAPI take half of the time until a service is ready, so they are imported after that: by `load`, or by
    the first request that needs them. A handoff needs only pydantic.
    """

    def __init__(self, services: Services, load: Callable[[Services], ASGIApp] | None = None) -> None:
        """`load` gives the routes that need FastAPI."""
        load = load or _all_routes

        def routes() -> ASGIApp:
            self._calls.load()  # no two threads import pydantic at the same time
            return load(services)

        self._calls = _Late("calls", lambda: _handoff_calls(services, self._others))
        self._routes = _Late("routes", routes)
        self._guarded = Guard(self._route, services)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._guarded(scope, receive, send)

    def load(self) -> None:
        """Import everything. Idempotent; concurrent calls wait for the first one.

        After an error every request fails, also `/health`: a service must not look sound that answers a part of them.
        """
        self._routes.load()

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._routes.has_failed:
            await self._others(scope, receive, send)
        elif (scope["method"], scope["path"], scope["query_string"]) == ("GET", "/health", b""):
            await Json({"status": "ok"})(scope, receive, send)
        else:
            await (await self._calls.loaded())(scope, receive, send)

    async def _others(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._routes.loaded())(scope, receive, send)


class _Late(Generic[T]):
    """What is loaded once, by the first that needs it. An error is final."""

    def __init__(self, name: str, load: Callable[[], T]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._loader = Pool(1, name, idle_seconds=0)
        self._value: T | None = None
        self._failure: Exception | None = None

    @property
    def has_failed(self) -> bool:
        return self._failure is not None

    def load(self) -> T:
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._value is None:
                try:
                    self._value = self._load()
                except Exception as error:
                    self._failure = error
                    raise
            return self._value

    async def loaded(self) -> T:
        """Wait for it without blocking the loop."""
        if self._value is not None:
            return self._value
        # Shielded: the others wait for it, too, if this client is gone.
        return await asyncio.shield(asyncio.wrap_future(self._loader.call(self.load)))


def _handoff_calls(services: Services, others: ASGIApp) -> ASGIApp:
    from local.server.handoff_calls import HandoffCalls  # noqa: PLC0415  # see `App`

    return HandoffCalls(services, others)


def _all_routes(services: Services) -> ASGIApp:
    from local.server.routes import all_routes  # noqa: PLC0415  # see `App`

    return all_routes(services)
