"""Envelopes: to the stream of a connected relay, or signed to the webhook if one is set."""

import asyncio
import itertools
import json
from typing import Any

from aiohttp import web

from local.chats.simulator.backend import Backend
from local.chats.simulator.deliveries import Event, Policy
from shared.platforms.signal.inbound import sign


def _pauses() -> "itertools.chain[float]":
    """As the relay does."""
    return itertools.chain((0.2, 0.4, 0.8, 1.6, 3.2, 6.4), itertools.repeat(15.0))


POLICY = Policy(timeout=15.0, retries=_pauses, in_order=True)


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
        self._backend.deliveries.send(
            Event(
                platform=self._backend.name,
                id=str(json.loads(raw)["envelope"]["timestamp"]),
                lane="relay",
                url=self._backend.webhook,
                body=raw,
                sign=lambda _, __: sign(secret, raw, now=int(self._backend.clock() * 1000)),
                policy=POLICY,
            )
        )
