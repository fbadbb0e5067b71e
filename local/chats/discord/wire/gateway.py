"""The Gateway: sessions that can be resumed, and the events that each receives."""

import secrets
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from local.chats.discord.wire import payloads, server
from local.chats.discord.wire.events import GUILDS, gateway_events
from local.chats.discord.wire.frames import Connection
from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT
from local.chats.simulator.store import Change

JSON = dict[str, Any]
DISPATCH, RECONNECT = 0, 7
MESSAGE_CONTENT = 1 << 15
_KEPT_EVENTS = 1000


@dataclass
class Session:
    """A bot's session with its past events, so that a lost connection loses none."""

    id: str
    intents: int
    connection: Connection | None
    sequence: int = 0
    past: deque[JSON] = field(default_factory=lambda: deque(maxlen=_KEPT_EVENTS))


class Gateway:
    """All sessions. Each receives the changes of the store that it subscribed to."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._sessions: dict[str, Session] = {}
        backend.store.listen(self._changed)

    @property
    def connected(self) -> bool:
        return any(session.connection is not None for session in self._sessions.values())

    def identify(self, connection: Connection, intents: int) -> Session:
        """Start a session: READY, then the guild."""
        session = Session(secrets.token_hex(16), intents, connection)
        self._sessions[session.id] = session
        backend = self._backend
        guild_id = backend.options.guild
        ready = {
            "v": 10,
            "user": payloads.me(backend),
            "guilds": [{"id": guild_id, "unavailable": True}],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": f"{self._backend.base_url().replace('http', 'ws', 1)}/discord/gateway",
            "shard": [0, 1],
            "application": {"id": backend.options.application, "flags": 1 << 19},
        }
        self._send(session, "READY", ready)
        if intents & GUILDS:
            self._send(session, "GUILD_CREATE", self.guild())
        return session

    def resume(self, connection: Connection, session_id: str, sequence: int) -> Session | None:
        """Continue a session: the missed events, then RESUMED. None if there is no such session."""
        session = self._sessions.get(session_id)
        if session is None:
            return None
        session.connection = connection
        for event in tuple(session.past):
            if event["s"] > sequence:
                connection.send(event)
        self._send(session, "RESUMED", {})
        return session

    def leave(self, connection: Connection, *, for_good: bool) -> None:
        """A connection ended; its session can be resumed unless `for_good`."""
        for session in tuple(self._sessions.values()):
            if session.connection is connection:
                session.connection = None
                if for_good:
                    del self._sessions[session.id]

    async def disconnect(self) -> None:
        """Ask every bot to reconnect, as Discord does when one of its servers stops."""
        for session in tuple(self._sessions.values()):
            if session.connection is not None:
                session.connection.send({"op": RECONNECT, "d": None})
                await session.connection.close()

    def dispatch(self, event: str, data: JSON, *, intent: int = 0) -> None:
        """Send to every session whose intents subscribe to it."""
        for session in self._sessions.values():
            if not intent or session.intents & intent:
                self._send(session, event, self._visible(session, event, data))

    def guild(self) -> JSON:
        backend = self._backend
        chats = [chat for chat in backend.chats() if chat.kind != "dm"]
        return server.guild(backend) | {
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

    def _visible(self, session: Session, event: str, data: JSON) -> JSON:
        """Without the message-content intent a bot sees only direct messages, mentions of it and its own messages."""
        if not event.startswith("MESSAGE_") or session.intents & MESSAGE_CONTENT or "guild_id" not in data:
            return data
        bot = self._backend.person(BOT).id
        addressed = any(user["id"] == bot for user in data.get("mentions", []))
        return data if addressed or data["author"]["id"] == bot else {**data, "content": ""}

    def _changed(self, change: Change) -> None:
        if change.chat.platform != self._backend.name:
            return
        for event, data, intent in gateway_events(change, self._backend):
            self.dispatch(event, data, intent=intent)
            if event == "MESSAGE_CREATE" and data["author"]["id"] != self._backend.person(BOT).id:
                while self._backend.take_redelivery():
                    self.dispatch(event, data, intent=intent)
