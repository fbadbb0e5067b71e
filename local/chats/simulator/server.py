"""Assembles the parts of a simulator and serves them on one port."""

import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from local.chats.simulator import page, snapshot
from local.chats.simulator.backend import Backend, MadeCall
from local.chats.simulator.control import Control
from local.chats.simulator.deliveries import Deliveries
from local.chats.simulator.faults import Faults
from local.chats.simulator.journal import Journal
from local.chats.simulator.live import Live
from local.chats.simulator.protocol import Handshake, Wire
from local.chats.simulator.store import Store
from local.chats.spec import LocalChat, load
from local.web_pages import REFUSAL, is_link, is_other_page

MAX_BODY = 160 * 2**20  # an upload, also in base64
KEPT_CALLS = 2000


@dataclass(frozen=True)
class ServerSettings:
    """`service_url` is read for each event: it may change while the server runs. `journal` keeps the chats in a file."""

    platforms: Sequence[LocalChat]
    secrets: Mapping[str, str]
    service_url: Callable[[], str | None]
    retry_scale: float
    journal: Path | None = None


class Server:
    """A running simulator, for code on its event loop."""

    def __init__(self, settings: ServerSettings) -> None:
        faults, store = Faults(), Store(settings.platforms, time.time)
        self._journal = Journal(settings.journal, store) if settings.journal else None
        self.port = 0
        self.calls: deque[MadeCall] = deque(maxlen=KEPT_CALLS)
        self.deliveries = Deliveries(faults, retry_scale=settings.retry_scale)
        self._platforms: dict[str, tuple[Backend, Wire]] = {}

        def scene() -> dict[str, Any]:
            return snapshot.scene(store, (backend for backend, _ in self._platforms.values()), faults)

        live = Live(store, faults, scene)
        for platform in settings.platforms:
            backend = Backend(
                platform=platform,
                secrets=settings.secrets,
                store=store,
                faults=faults,
                deliveries=self.deliveries,
                calls=self.calls,
                clock=time.time,
                base_url=lambda: f"http://127.0.0.1:{self.port}",
                service_url=settings.service_url,
                faults_changed=live.faults_changed,
            )
            self._platforms[platform.name] = (backend, load(platform.wire)(backend))
        self.control = Control(store, faults, self._platforms)
        app = web.Application(client_max_size=MAX_BODY, middlewares=[_same_origin])
        app.add_routes([*page.routes(settings.platforms), *self.control.routes(), web.get("/live", live.stream)])
        for _, wire in self._platforms.values():
            app.add_routes(wire.routes())
        app.on_shutdown.append(live.close)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)

    @classmethod
    async def open(cls, settings: ServerSettings, port: int) -> Self:
        """Listens when it returns; raises OSError if the port is taken."""
        server = cls(settings)
        await server._runner.setup()
        try:
            await web.TCPSite(server._runner, "127.0.0.1", port).start()
        except OSError:
            await server.close()
            raise
        server.port = server._runner.addresses[0][1]
        return server

    async def close(self) -> None:
        await self.deliveries.close()
        await self._runner.cleanup()
        if self._journal is not None:
            self._journal.close()

    async def disconnect(self, platform: str) -> None:
        await self._platforms[platform][1].disconnect()

    async def verify(self, platform: str) -> Handshake:
        return await self._platforms[platform][1].verify()

    async def webhook_changed(self) -> None:
        """Send events that waited for a webhook URL."""
        for _, wire in self._platforms.values():
            wire.webhook_changed()
        self.deliveries.wake()


@web.middleware
async def _same_origin(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse what a web page of another origin sends, to page, control and platforms alike.

    Links to the page itself stay possible: it shows nothing to the page that holds the link.
    """
    opens_the_page = request.method == "GET" and request.path == "/" and is_link(request.headers.get)
    if is_other_page(request.headers.get) and not opens_the_page:
        return web.json_response({"error": REFUSAL}, status=403)
    return await handler(request)
