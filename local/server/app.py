"""All calls of the API as one ASGI app: those of a handoff at once, the others as soon as FastAPI is loaded."""

import asyncio
import threading
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from functions.http.guard import Guard
from local.server.handoff_calls import HandoffCalls
from local.server.pool import Pool
from shared.services import Services


class App:
    """The HTTP API and the webhooks with these services.

    FastAPI takes a third of the time until a service is ready, so it is imported after that: by `load`, or by the first
    request that needs it.
    """

    def __init__(self, services: Services, load: Callable[[Services], ASGIApp] | None = None) -> None:
        """`load` gives the routes that need FastAPI."""
        self._services, self._load = services, load or _all_routes
        self._lock = threading.Lock()
        self._loader = Pool(1, "routes", idle_seconds=0)
        self._routes: ASGIApp | None = None
        self._failure: Exception | None = None
        self._calls = HandoffCalls(services, self._others)
        self._guarded = Guard(self._route, services)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._guarded(scope, receive, send)

    def load(self) -> ASGIApp:
        """Import FastAPI and all routes. Idempotent; concurrent calls wait for the first one.

        After an error every request fails, also `/health`: a service must not look sound that answers a part of them.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._routes is None:
                try:
                    self._routes = self._load(self._services)
                except Exception as error:
                    self._failure = error
                    raise
            return self._routes

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._calls if self._failure is None else self._others
        await app(scope, receive, send)

    async def _others(self, scope: Scope, receive: Receive, send: Send) -> None:
        routes = self._routes
        if routes is None:
            # Shielded: the others wait for it, too, if this client is gone.
            routes = await asyncio.shield(asyncio.wrap_future(self._loader.call(self.load)))
        await routes(scope, receive, send)


def _all_routes(services: Services) -> ASGIApp:
    from local.server.routes import all_routes  # noqa: PLC0415  # see `App`

    return all_routes(services)
