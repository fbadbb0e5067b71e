"""Socket Mode: events as envelopes over a WebSocket, resent until they are acknowledged."""

import asyncio
import json
import secrets
import uuid
from typing import Any

from aiohttp import WSMsgType, web

from local.chats.simulator.backend import Backend

_ACK_SECONDS = 3.0


class Sockets:
    """The app's open sockets. An envelope goes to one of them, and again after three seconds without an acknowledgement."""

    def __init__(self, backend: Backend) -> None:
        self.wanted = False  # the app opened a socket: from then on all its events go through sockets
        self._backend = backend
        self._tickets: set[str] = set()
        self._open: list[web.WebSocketResponse] = []
        self._connected = asyncio.Event()
        self._unacknowledged: dict[str, asyncio.Event] = {}

    def ticket(self) -> str:
        """A URL that opens one socket."""
        self.wanted = True
        ticket = secrets.token_hex(8)
        self._tickets.add(ticket)
        return f"{self._backend.base_url().replace('http', 'ws', 1)}/slack/link?ticket={ticket}"

    def send(self, payload: dict[str, Any], kind: str = "events_api") -> None:
        self._backend.deliveries.background(self._deliver(payload, kind))

    async def disconnect(self) -> None:
        """Ask the app to reconnect, as Slack does every few hours, and close."""
        for socket in tuple(self._open):
            await socket.send_json({"type": "disconnect", "reason": "refresh_requested", "debug_info": {}})
            await socket.close()

    async def _deliver(self, payload: dict[str, Any], kind: str) -> None:
        envelope_id = str(uuid.uuid4())
        envelope = {
            "envelope_id": envelope_id,
            "payload": payload,
            "type": kind,
            "accepts_response_payload": False,
        }
        attempt, acknowledged = 0, asyncio.Event()
        self._unacknowledged[envelope_id] = acknowledged
        while not acknowledged.is_set() or self._backend.take_redelivery():
            acknowledged.clear()
            await self._connected.wait()
            reason = "timeout" if attempt else ""
            try:
                await self._open[-1].send_json({**envelope, "retry_attempt": attempt, "retry_reason": reason})
                await asyncio.wait_for(acknowledged.wait(), _ACK_SECONDS)
            except TimeoutError:
                pass  # not acknowledged: send it again
            except ConnectionError:
                await asyncio.sleep(0.01)  # this socket is closing: its reader will remove it
            attempt += 1
        del self._unacknowledged[envelope_id]

    async def accept(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.json_response({"ok": False, "error": "invalid_auth"}, status=401)
        self._tickets.discard(ticket)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        app = self._backend.options.app
        hello = {"type": "hello", "num_connections": len(self._open) + 1, "connection_info": {"app_id": app}}
        hello["debug_info"] = {"host": "applink", "build_number": 1, "approximate_connection_time": 18060}
        await socket.send_json(hello)
        self._open.append(socket)
        self._connected.set()
        try:
            async for frame in socket:
                if frame.type == WSMsgType.TEXT:
                    self._acknowledge(frame.data)
        finally:
            self._open.remove(socket)
            if not self._open:
                self._connected.clear()
        return socket

    def _acknowledge(self, text: str) -> None:
        try:
            envelope_id = json.loads(text).get("envelope_id")
        except (ValueError, AttributeError):
            return
        if envelope_id in self._unacknowledged:
            self._unacknowledged[envelope_id].set()
