"""Envelopes: to the stream of a connected relay, or signed to the webhook if one is set."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from local.chats.simulator.backend import Backend
from local.chats.simulator.deliveries import Policy, doubling
from shared.platforms.signal.inbound import sign

POLICY = Policy(timeout=15.0, retries=lambda: doubling(0.2, 15), in_order=True)  # as the relay does


class Events:
    """Without a webhook, events wait for a stream: the daemon receives messages while one is connected."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._waiting: list[bytes] = []
        self._arrived = asyncio.Event()

    def add(self, envelope: dict[str, Any]) -> None:
        raw = json.dumps({"envelope": envelope, "account": self._backend.secret("account")}).encode()
        self._waiting.append(raw)
        self._arrived.set()
        self.flush()

    def flush(self) -> None:
        """Send what waits to the webhook."""
        if self._backend.webhook() is None:
            return
        for raw in self._waiting:
            self._post(raw)
        self._waiting.clear()

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """`GET /api/v1/events`: server-sent events, each once."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b":\n\n")
        while True:
            while self._waiting:
                raw = self._waiting[0]
                for _ in range(1 + self._backend.take_redelivery()):
                    await response.write(b"event:receive\ndata:" + raw + b"\n\n")
                self._waiting.remove(raw)
            self._arrived.clear()
            await self._arrived.wait()

    def _post(self, raw: bytes) -> None:
        secret = self._backend.secret("relay_secret")
        event_id = str(json.loads(raw)["envelope"]["timestamp"])

        def signature(*_: Any) -> Mapping[str, str]:
            return sign(secret, raw, now=int(self._backend.clock() * 1000))

        self._backend.deliver(event_id, raw, signature, POLICY, lane="relay")
