"""Server-sent events for the page: the whole scene, then each change."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from local.chats.simulator import snapshot
from local.chats.simulator.faults import Faults
from local.chats.simulator.store import Change, Store

_PING_SECONDS = 15.0


class Live:
    """All open pages. Each has its queue, so a slow one does not delay the others."""

    def __init__(self, store: Store, faults: Faults, scene: Callable[[], dict[str, Any]]) -> None:
        self._faults, self._scene = faults, scene
        self._pages: set[asyncio.Queue[tuple[str, Any] | None]] = set()
        store.listen(self._changed)

    def _changed(self, change: Change) -> None:
        self._send("change", snapshot.change_scene(change))

    def faults_changed(self) -> None:
        self._send("faults", [snapshot.fault_scene(fault) for fault in self._faults.armed])

    def _send(self, event: str, data: Any) -> None:
        for page in self._pages:
            page.put_nowait((event, data))

    async def close(self, _: web.Application) -> None:
        """End every open stream so that the server can stop."""
        for page in self._pages:
            page.put_nowait(None)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        page: asyncio.Queue[tuple[str, Any] | None] = asyncio.Queue()
        page.put_nowait(("scene", self._scene()))
        self._pages.add(page)
        try:
            while True:
                try:
                    item = await asyncio.wait_for(page.get(), _PING_SECONDS)
                except TimeoutError:
                    await response.write(b": ping\n\n")
                    continue
                if item is None:
                    break
                await response.write(f"event: {item[0]}\ndata: {json.dumps(item[1])}\n\n".encode())
        except ConnectionResetError:
            pass  # the page was closed
        finally:
            self._pages.discard(page)
        return response
