"""One client's connection to the Gateway: hello, identify or resume, heartbeats, requests."""

import json
from typing import Any

from aiohttp import WSMsgType, web

from local.chats.discord.wire.frames import Connection, compressor
from local.chats.discord.wire.gateway import Gateway, Session
from local.chats.simulator.backend import Backend

JSON = dict[str, Any]
HEARTBEAT, IDENTIFY, RESUME, INVALID_SESSION, HELLO, ACK = 1, 2, 6, 9, 10, 11
HEARTBEAT_MS = 41_250
# Close codes for errors of the bot.
DECODE_ERROR, NOT_AUTHENTICATED, AUTHENTICATION_FAILED, ALREADY_AUTHENTICATED = 4002, 4003, 4004, 4005


class Client:
    """Handles the frames of one client."""

    def __init__(self, backend: Backend, gateway: Gateway, connection: Connection) -> None:
        self._backend, self._gateway, self._connection = backend, gateway, connection
        self._session: Session | None = None

    async def receive(self, text: str) -> None:
        try:
            frame = json.loads(text)
            operation, data = frame["op"], frame.get("d")
        except (ValueError, KeyError, TypeError):
            await self._connection.close(DECODE_ERROR)
            return
        if operation == HEARTBEAT:
            self._connection.send({"op": ACK, "d": None})
        elif operation in (IDENTIFY, RESUME):
            await self._authenticate(operation, data)
        elif self._session is None:
            await self._connection.close(NOT_AUTHENTICATED)

    async def _authenticate(self, operation: int, data: JSON) -> None:
        if self._session is not None:
            await self._connection.close(ALREADY_AUTHENTICATED)
        elif data["token"].removeprefix("Bot ") != self._backend.secret("bot_token"):
            await self._connection.close(AUTHENTICATION_FAILED)
        elif operation == IDENTIFY:
            self._session = self._gateway.identify(self._connection, int(data.get("intents", 0)))
        else:
            self._session = self._gateway.resume(self._connection, data["session_id"], int(data["seq"] or 0))
            if self._session is None:
                self._connection.send({"op": INVALID_SESSION, "d": False})


async def accept(request: web.Request, backend: Backend, gateway: Gateway) -> web.StreamResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    connection = Connection(socket, compressor(request.query.get("compress")))
    client = Client(backend, gateway, connection)
    connection.send({"op": HELLO, "d": {"heartbeat_interval": HEARTBEAT_MS, "_trace": []}})
    try:
        async for frame in socket:
            if frame.type == WSMsgType.TEXT:
                await client.receive(frame.data)
    finally:
        # A client that closes with 1000 or 1001 ends its session; after any other code it can be resumed.
        gateway.leave(connection, for_good=not connection.closed_by_server and socket.close_code in (1000, 1001))
        await connection.close()
    return socket
