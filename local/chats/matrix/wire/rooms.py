"""Reads of rooms: members, state, events, threads."""

from typing import Any

from local.chats.matrix.wire.errors import invalid, not_found, not_in_room
from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT
from local.chats.simulator.store import Chat, Message, NotFound

JSON = dict[str, Any]
_PREVIEWS = ", and room previews are disabled"
MOST = 1000


class Rooms:
    """The rooms that the bot has joined. Events are made from the messages of the store."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.redacted: dict[str, JSON] = {}

    @property
    def bot(self) -> str:
        return self._backend.person(BOT).id

    def joined(self, room: str, more: str = "") -> Chat:
        try:
            chat = self._backend.chat(room)
        except NotFound:
            raise not_in_room(self.bot, room, more) from None
        if not chat.has_bot:
            raise not_in_room(self.bot, room, more)
        return chat

    def members(self, room: str) -> JSON:
        people = [self._backend.person(key) for key in (*self.joined(room).people, BOT)]
        return {"joined": {person.id: {"avatar_url": None, "display_name": person.name} for person in people}}

    def state(self, room: str, kind: str) -> JSON:
        self.joined(room, _PREVIEWS)
        if kind == "m.room.power_levels":
            return {"users": {}, "users_default": 0, "events": {"m.room.name": 50}, "events_default": 0, "ban": 50}
        if kind == "m.room.encryption" and room in self._backend.options.encrypted:
            return {"algorithm": "m.megolm.v1.aes-sha2"}
        raise not_found()

    def event(self, room: str, event_id: str) -> JSON:
        try:
            chat = self._backend.chat(room)
            return self.as_event(chat, self._backend.store.find(chat, event_id)[1])
        except NotFound:
            if event_id in self.redacted:
                return self.redacted[event_id]
            raise not_found() from None

    def messages(self, room: str, start: str, limit: int) -> JSON:
        """All events of the room, also those in threads, newest first."""
        chat = self.joined(room, _PREVIEWS)
        inside = [message for thread in chat.threads.values() for message in thread.messages]
        found = sorted([*chat.messages, *inside], key=lambda message: -int(message.extra["ts"]))
        events = [self.as_event(chat, message) for message in found]
        chunk, end = _page(events, start, limit)
        return {"chunk": chunk, "start": start or "t0", **({"end": end} if end else {})}

    def thread(self, room: str, root: str, start: str, limit: int) -> JSON:
        chat = self.joined(room, _PREVIEWS)
        if root not in self.redacted and not any(message.id == root for message in chat.messages):
            raise not_found("Unknown parent event.")
        inside = chat.threads[root].messages if root in chat.threads else []
        chunk, end = _page([self.as_event(chat, message) for message in reversed(inside)], start, limit)
        return {"chunk": chunk, **({"next_batch": end} if end else {})}

    def as_event(self, chat: Chat, message: Message) -> JSON:
        return {
            "type": message.extra.get("type", "m.room.message"),
            "room_id": chat.id,
            "sender": self._backend.person(message.author).id,
            "event_id": message.id,
            "origin_server_ts": message.extra["ts"],
            "content": message.extra["content"],
            "unsigned": {"membership": "join"},
        }

    def redact(self, chat: Chat, message: Message) -> None:
        """Keep the event of a message that a person deletes, without its content."""
        because = {"type": "m.room.redaction", "redacts": message.id, "content": {"redacts": message.id}}
        emptied = self.as_event(chat, message)
        self.redacted[message.id] = {**emptied, "content": {}, "unsigned": {"redacted_because": because}}


def _page(found: list[JSON], start: str, limit: int) -> tuple[list[JSON], str | None]:
    number = start.removeprefix("t") or "0"
    if not number.isdigit():
        raise invalid("Invalid stream token", "M_INVALID_PARAM")
    first, limit = int(number), min(max(limit, 1), MOST)
    more = len(found) > first + limit
    return found[first : first + limit], f"t{first + limit}" if more else None
