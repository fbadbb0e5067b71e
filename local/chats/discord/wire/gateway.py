"""The Gateway: sessions that can be resumed, and the events that each receives."""

import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from local.chats.discord.wire import payloads
from local.chats.discord.wire.connections import Connection
from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT
from local.chats.simulator.store import Change

JSON = dict[str, Any]
DISPATCH, IDENTIFY, RESUME, RECONNECT, INVALID_SESSION = 0, 2, 6, 7, 9
AUTHENTICATION_FAILED = 4004
_KEPT_EVENTS = 1000


@dataclass
class Session:
    """A bot's session with its past events, so that a lost connection loses none."""

    id: str
    connection: Connection | None
    sequence: int = 0
    past: deque[JSON] = field(default_factory=lambda: deque(maxlen=_KEPT_EVENTS))


class Gateway:
    """All sessions. Each receives the messages of people and the interactions; other events are not simulated."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._sessions: dict[str, Session] = {}
        backend.store.listen(self._changed)

    @property
    def connected(self) -> bool:
        return any(session.connection is not None for session in self._sessions.values())

    @property
    def url(self) -> str:
        return f"{self._backend.base_url().replace('http', 'ws', 1)}/discord/gateway"

    def address(self) -> JSON:
        """The answer to a bot that asks where the Gateway is."""
        limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
        return {"url": self.url, "shards": 1, "session_start_limit": limit}

    async def accept(self, request: web.Request) -> web.StreamResponse:
        """Serve one client until it leaves."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        connection = Connection(socket)
        try:
            async for frame in connection.received():
                if frame["op"] in (IDENTIFY, RESUME):
                    await self._authenticate(connection, frame["op"], frame["d"])
        finally:
            self._leave(connection)
            await connection.close()
        return socket

    async def _authenticate(self, connection: Connection, operation: int, data: JSON) -> None:
        if data["token"].removeprefix("Bot ") != self._backend.secret("bot_token"):
            await connection.close(AUTHENTICATION_FAILED)
        elif operation == IDENTIFY:
            self._identify(connection)
        elif (session := self._sessions.get(data["session_id"])) is not None:
            self._resume(connection, session, int(data["seq"] or 0))
        else:
            connection.send({"op": INVALID_SESSION, "d": False})

    def _identify(self, connection: Connection) -> None:
        """Start a session: READY, then the guild."""
        session = Session(secrets.token_hex(16), connection)
        self._sessions[session.id] = session
        backend = self._backend
        guild_id = backend.options.guild
        ready = {
            "v": 10,
            "user": payloads.me(backend),
            "guilds": [{"id": guild_id, "unavailable": True}],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self.url,
            "shard": [0, 1],
            "application": {"id": backend.options.application, "flags": 1 << 19},
        }
        self._send(session, "READY", ready)
        self._send(session, "GUILD_CREATE", self._guild())

    def _resume(self, connection: Connection, session: Session, sequence: int) -> None:
        """Continue a session: the missed events, then RESUMED."""
        session.connection = connection
        for event in tuple(session.past):
            if event["s"] > sequence:
                connection.send(event)
        self._send(session, "RESUMED", {})

    def _leave(self, connection: Connection) -> None:
        for session in tuple(self._sessions.values()):
            if session.connection is connection:
                session.connection = None
                if connection.is_over:
                    del self._sessions[session.id]

    async def disconnect(self) -> None:
        """Ask every bot to reconnect, as Discord does when one of its servers stops."""
        for session in tuple(self._sessions.values()):
            if session.connection is not None:
                session.connection.send({"op": RECONNECT, "d": None})
                await session.connection.close()

    def dispatch(self, event: str, data: JSON) -> None:
        """Send to every session."""
        for session in self._sessions.values():
            self._send(session, event, data)

    def _guild(self) -> JSON:
        backend = self._backend
        chats = [chat for chat in backend.chats() if chat.kind != "dm"]
        return payloads.guild(backend) | {
            "joined_at": payloads.instant(1_700_000_000),
            "large": False,
            "unavailable": False,
            "member_count": len(backend.people),
            "members": [payloads.member(person) for person in backend.people],
            "channels": [payloads.channel(chat, backend) for chat in chats],
            "threads": [payloads.thread_channel(c, t, backend) for c in chats for t in c.threads.values()],
            "voice_states": [],
            "presences": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
            "soundboard_sounds": [],
        }

    def _send(self, session: Session, event: str, data: JSON) -> None:
        session.sequence += 1
        frame = {"op": DISPATCH, "t": event, "s": session.sequence, "d": data}
        session.past.append(frame)
        if session.connection is not None:
            session.connection.send(frame)

    def _changed(self, change: Change) -> None:
        chat, message = change.chat, change.message
        if chat.platform != self._backend.name or change.kind != "message" or message is None:
            return
        if message.extra.get("flags", 0) & payloads.EPHEMERAL:
            return  # visible to one person only
        author = self._backend.person(message.author)
        thread = chat.threads.get(change.thread_id) if change.thread_id else None
        data = payloads.message(message, chat, thread, self._backend)
        if chat.kind != "dm":
            data["guild_id"] = self._backend.options.guild
            data["member"] = {key: value for key, value in payloads.member(author).items() if key != "user"}
        self.dispatch("MESSAGE_CREATE", data)
        while message.author != BOT and self._backend.take_redelivery():
            self.dispatch("MESSAGE_CREATE", data)
