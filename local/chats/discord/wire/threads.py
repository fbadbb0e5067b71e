"""Threads: from a channel, from a message or as a forum's post; and their members."""

from typing import Any

from local.chats.discord.wire import errors, payloads
from local.chats.discord.wire.channels import Channels
from local.chats.discord.wire.errors import DiscordError
from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT
from local.chats.simulator.store import Chat, NotFound, Thread

JSON = dict[str, Any]
MAX_NAME = 100
DURATIONS = (60, 1440, 4320, 10080)


class Threads:
    """Discord's thread methods."""

    def __init__(self, backend: Backend, channels: Channels) -> None:
        self._backend, self._channels = backend, channels

    def open(self, channel: str, body: JSON) -> JSON:
        """A thread without a parent message in a text channel, or a post in a forum, which needs a first message."""
        chat, inside = self._channels.find(channel)
        if chat.kind == "dm" or inside is not None:
            raise errors.wrong_channel_type()
        name, duration = self._name(body), self._duration(body)
        if chat.kind == "forum":
            return self._post_in_forum(chat, name, duration, body)
        # Without a type Discord creates a private thread, which only its members see.
        private = body.get("type", payloads.PRIVATE_THREAD) == payloads.PRIVATE_THREAD
        thread = self._open(chat, self._channels.next_id(), name, duration, private=private)
        return self._shown(chat, thread)

    def open_at(self, channel: str, message: str, body: JSON) -> JSON:
        """The thread has the id of the message, so a message has at most one."""
        chat, inside = self._channels.find(channel)
        if chat.kind != "text" or inside is not None:
            raise errors.wrong_channel_type()
        if message in chat.threads:
            raise DiscordError(400, 160004, "A thread has already been created for this message")
        try:
            self._backend.store.find(chat, message)
        except NotFound:
            raise errors.unknown("Message") from None
        thread = self._open(chat, message, self._name(body), self._duration(body), starter=message)
        return self._shown(chat, thread)

    def join(self, channel: str, user: str) -> None:
        chat, thread = self._channels.find(channel)
        if thread is None:
            raise errors.wrong_channel_type()
        person = self._channels.person(user)
        if person.key not in (*chat.people, BOT):
            raise DiscordError(403, 50001, "Missing Access")
        thread.members.add(person.key)
        self._backend.store.thread_changed(chat, thread)

    def active(self) -> JSON:
        found = [(c, t) for c in self._backend.chats() for t in c.threads.values()]
        bot = self._backend.person(BOT)
        return {
            "threads": [payloads.thread_channel(c, t, self._backend) for c, t in found],
            "members": [payloads.thread_member(t, bot) for _, t in found if BOT in t.members],
            "has_more": False,
        }

    def _post_in_forum(self, chat: Chat, name: str, duration: int, body: JSON) -> JSON:
        first = body.get("message")
        if not isinstance(first, dict):
            raise errors.form("message", "BASE_TYPE_REQUIRED", "This field is required")
        self._channels.content(first)
        thread = self._open(chat, self._channels.next_id(), name, duration)
        message = self._channels.write(chat, thread, first, message_id=thread.id)
        return self._shown(chat, thread) | {"message": payloads.message(message, chat, thread, self._backend)}

    def _open(
        self, chat: Chat, thread_id: str, name: str, duration: int, *, private: bool = False, starter: str | None = None
    ) -> Thread:
        extra = {"archived": False, "auto_archive_duration": duration}
        return self._backend.store.open_thread(chat, thread_id, name, BOT, starter=starter, private=private, **extra)

    def _shown(self, chat: Chat, thread: Thread) -> JSON:
        member = payloads.thread_member(thread, self._backend.person(BOT))
        return payloads.thread_channel(chat, thread, self._backend) | {"member": member}

    def _name(self, body: JSON) -> str:
        name = str(body.get("name") or "").strip()
        errors.check_length("name", name, shortest=1, longest=MAX_NAME)
        return name

    def _duration(self, body: JSON) -> int:
        duration = body.get("auto_archive_duration") or 4320
        if duration not in DURATIONS:
            text = f"Value must be one of {DURATIONS}."
            raise errors.form("auto_archive_duration", "BASE_TYPE_CHOICES", text)
        return int(duration)
