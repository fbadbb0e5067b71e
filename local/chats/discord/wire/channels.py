"""Channels and their messages, with Discord's limits and error codes."""

import re
from collections.abc import Mapping
from typing import Any

from local.chats.discord.wire import components, errors, payloads
from local.chats.discord.wire.errors import DiscordError
from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT, Person
from local.chats.simulator.store import Chat, Message, NotFound, Thread

JSON = dict[str, Any]
MAX_CONTENT = 2000
MAX_NONCE = 25
NONCE_SECONDS = 180.0  # "the past few minutes"
TYPING_SECONDS = 10.0
_EPOCH_MS = 1_420_070_400_000


class Channels:
    """Reads and writes messages; a thread is a channel too."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._last_id = 0
        self._nonces: dict[str, tuple[float, JSON]] = {}

    def next_id(self) -> str:
        """A snowflake: the time in milliseconds and a counter; unique and increasing."""
        milliseconds = int(self._backend.clock() * 1000) - _EPOCH_MS
        self._last_id = max(self._last_id + 1, milliseconds << 22)
        return str(self._last_id)

    def find(self, channel_id: str) -> tuple[Chat, Thread | None]:
        """The channel, or the thread with its channel. Discord reads an id as a number."""
        if not re.fullmatch(r"[0-9]{1,20}", channel_id):
            raise errors.form("channel_id", "NUMBER_TYPE_COERCE", f'Value "{channel_id}" is not snowflake.')
        channel_id = str(int(channel_id))
        for chat in self._backend.chats():
            if chat.id == channel_id:
                return chat, None
            if channel_id in chat.threads:
                return chat, chat.threads[channel_id]
        raise errors.unknown("Channel")

    def person(self, user_id: str) -> Person:
        person = self._backend.person_with_id(user_id)
        if person is None:
            raise errors.unknown("User")
        return person

    def show(self, channel: str) -> JSON:
        chat, thread = self.find(channel)
        if not chat.has_bot:
            raise DiscordError(403, 50001, "Missing Access")
        if thread is not None:
            return payloads.thread_channel(chat, thread, self._backend)
        return payloads.channel(chat, self._backend)

    def change(self, channel: str, body: JSON) -> JSON:
        """Archive a thread, or open it again; nothing else is changed here."""
        chat, thread = self.find(channel)
        if thread is None or not chat.has_bot:
            raise DiscordError(403, 50013, "Missing Permissions")
        thread.extra["archived"] = bool(body.get("archived", thread.extra["archived"]))
        return payloads.thread_channel(chat, thread, self._backend)

    def history(self, channel: str, query: Mapping[str, str]) -> list[JSON]:
        """Newest first; `after` is a message id."""
        chat, thread = self.find(channel)
        lasting = [m for m in (thread or chat).messages if not m.extra.get("flags", 0) & payloads.EPHEMERAL]
        found = [m for m in lasting if int(m.id) > int(query.get("after") or 0)]
        limit = min(max(int(query.get("limit") or 50), 1), 100)
        page = found[:limit] if query.get("after") else found[-limit:]
        return [payloads.message(m, chat, thread, self._backend) for m in reversed(page)]

    def message(self, channel: str, message: str) -> JSON:
        chat, thread, found = self._message(channel, message)
        return payloads.message(found, chat, thread, self._backend)

    def post(self, channel: str, body: JSON) -> JSON:
        """A message of the bot. With `enforce_nonce`, a recent nonce returns the message that has it."""
        chat, thread = self.find(channel)
        if chat.kind == "forum" and thread is None:
            raise DiscordError(400, 40058, "Cannot send a message in a forum channel")
        nonce = self._nonce(body)
        if nonce is not None and body.get("enforce_nonce"):
            made, shown = self._nonces.get(nonce, (0.0, {}))
            if self._backend.clock() - made < NONCE_SECONDS:
                return shown
        message = self.write(chat, thread, body, nonce=body.get("nonce"))
        shown = payloads.message(message, chat, thread, self._backend)
        if nonce is not None:
            self._nonces[nonce] = (self._backend.clock(), shown)
        return shown

    def write(self, chat: Chat, thread: Thread | None, body: JSON, *, nonce: Any = None, **extra: Any) -> Message:
        """Validate and store a message of the bot."""
        files = [self._backend.store.files.keep(file.name, file.type, file.data) for file in body.get("files", ())]
        content = self.content(body) if not files or body.get("content") else ""
        parse = (body.get("allowed_mentions") or {}).get("parse", ["everyone"])
        everyone = "everyone" in parse and ("@everyone" in content or "@here" in content)
        message_id = extra.pop("message_id", None) or self.next_id()
        if thread is not None:
            thread.extra["archived"] = False  # a message reopens an archived thread
        flags = int(body.get("flags") or 0)
        private = bool(flags & payloads.EPHEMERAL)
        rows = components.checked(body.get("components") or [])
        extra = {"nonce": nonce, "mention_everyone": everyone, "flags": flags, "private": private, **extra}
        extra |= {"files": files} if files else {}
        buttons = components.buttons_in(rows)
        return self._backend.store.post(
            chat, thread, message_id, BOT, content, buttons=buttons, components=rows, **extra
        )

    def edit(self, channel: str, message: str, body: JSON) -> JSON:
        chat, thread, found = self._message(channel, message)
        if found.author != BOT:
            raise DiscordError(403, 50005, "Cannot edit a message authored by another user")
        given = body.get("components")  # those that are not named stay as they are
        rows = found.extra.get("components", []) if given is None else components.checked(given)
        buttons = components.buttons_in(rows)
        self._backend.store.edit(chat, thread, found, self.content(body), buttons=buttons, components=rows)
        return payloads.message(found, chat, thread, self._backend)

    def typing(self, channel: str) -> None:
        chat, thread = self.find(channel)
        self._backend.store.typing(chat, thread.id if thread else None, TYPING_SECONDS)

    def content(self, body: JSON) -> str:
        content = body.get("content")
        if not isinstance(content, str) or not content.strip():
            raise DiscordError(400, 50006, "Cannot send an empty message")
        errors.check_longest("content", content, MAX_CONTENT)
        return content

    def _nonce(self, body: JSON) -> str | None:
        nonce = body.get("nonce")
        if nonce is None:
            return None
        errors.check_longest("nonce", str(nonce), MAX_NONCE)
        return str(nonce)

    def _message(self, channel_id: str, message_id: str) -> tuple[Chat, Thread | None, Message]:
        chat, thread = self.find(channel_id)
        try:
            where, message = self._backend.store.find(chat, message_id)
        except NotFound:
            raise errors.unknown("Message") from None
        if where is not thread:
            raise errors.unknown("Message")
        return chat, thread, message
