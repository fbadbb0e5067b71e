"""Slack's read methods: history, replies, channels, members."""

from typing import Any

from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT, Person
from local.chats.simulator.store import Chat, Message, NotFound, Thread
from local.chats.slack.wire import payloads
from local.chats.slack.wire.arguments import Arguments, SlackError
from local.chats.spec import SeededChat

JSON = dict[str, Any]
MAX_PAGE = 999


class Conversations:
    """The `conversations.*` and `users.*` methods; each returns the fields beside `ok`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def channel(self, channel_id: str) -> Chat:
        """The channel of that id; a person's id means the direct messages with them."""
        person = self._backend.person_with_id(channel_id)
        if person is not None and person.key != BOT:
            return self._direct(person)
        try:
            return self._backend.chat(channel_id)
        except NotFound:
            raise SlackError("channel_not_found") from None

    def joined(self, chat: Chat) -> Chat:
        if not chat.has_bot:
            raise SlackError("not_in_channel")
        return chat

    def info(self, arguments: Arguments) -> JSON:
        return {"channel": payloads.channel(self.channel(arguments.text("channel")), self._backend)}

    def members(self, arguments: Arguments) -> JSON:
        chat = self.channel(arguments.text("channel"))
        keys = (*chat.people, BOT)
        return {
            "members": [self._backend.person(key).id for key in keys],
            "response_metadata": {"next_cursor": ""},
        }

    def open(self, arguments: Arguments) -> JSON:
        """Direct messages with one person; created if there are none, unless `prevent_creation` is set."""
        person = self._backend.person_with_id(arguments.text("users"))
        if person is None:
            raise SlackError("user_not_found")
        if arguments.flag("prevent_creation") and self._direct_with(person) is None:
            raise SlackError("channel_not_found")
        return {"channel": {"id": self._direct(person).id}}

    def history(self, arguments: Arguments) -> JSON:
        """The channel's own messages, newest first."""
        chat = self.joined(self.channel(arguments.text("channel")))
        return self._page(chat, [*reversed(chat.messages)], arguments)

    def replies(self, arguments: Arguments) -> JSON:
        """A thread: its parent message, then the replies, oldest first."""
        chat = self.joined(self.channel(arguments.text("channel")))
        thread, parent = self.parent(chat, arguments.text("ts"))
        if parent is None:
            raise SlackError("thread_not_found")
        return self._page(chat, [parent, *(thread.messages if thread else [])], arguments)

    def parent(self, chat: Chat, ts: str) -> tuple[Thread | None, Message | None]:
        """The thread of that ts, which exists from its first reply on, and its parent message."""
        parent = next((m for m in chat.messages if m.id == ts), None)
        return chat.threads.get(ts), parent

    def _page(self, chat: Chat, found: list[Message], arguments: Arguments) -> JSON:
        cursor = arguments.text("cursor") or "0"
        if not cursor.isdecimal():
            raise SlackError("invalid_cursor")
        start, limit = int(cursor), min(max(arguments.integer("limit", 100), 1), MAX_PAGE)
        page, more = found[start : start + limit], len(found) > start + limit
        metadata = arguments.flag("include_all_metadata")
        threads = {m.id: t for t in chat.threads.values() for m in t.messages} | chat.threads
        return {
            "messages": [payloads.message(m, self._backend, thread=threads.get(m.id), metadata=metadata) for m in page],
            "has_more": more,
            "response_metadata": {"next_cursor": str(start + limit) if more else ""},
        }

    def _direct_with(self, person: Person) -> Chat | None:
        chats = self._backend.chats()
        return next((chat for chat in chats if chat.kind == "im" and chat.people == (person.key,)), None)

    def _direct(self, person: Person) -> Chat:
        if (chat := self._direct_with(person)) is not None:
            return chat
        title = f"{person.first_name} and the bot"
        return self._backend.add_chat(SeededChat(f"D0{person.key.upper()}", title, "im", (person.key,)))
