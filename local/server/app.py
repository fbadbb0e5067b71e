"""All calls of the API as one ASGI app: those of a handoff at once, the others as soon as FastAPI is loaded."""

import asyncio
import threading

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

    def __init__(self, services: Services) -> None:
        self._services = services
        self._lock = threading.Lock()
        self._loader = Pool(1, "routes", idle_seconds=0)
        self._routes: ASGIApp | None = None
        self._guarded = Guard(HandoffCalls(services, self._others), services)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._guarded(scope, receive, send)

    def load(self) -> ASGIApp:
        """Import FastAPI and all routes. Idempotent; concurrent calls wait for the first one."""
        with self._lock:
            if self._routes is None:
                from local.server.routes import all_routes  # noqa: PLC0415  # see above

                self._routes = all_routes(self._services)
            return self._routes

    async def _others(self, scope: Scope, receive: Receive, send: Send) -> None:
        routes = self._routes
        if routes is None:
            routes = await asyncio.wrap_future(self._loader.call(self.load))
        await routes(scope, receive, send)
