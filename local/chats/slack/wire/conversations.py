"""Slack's read methods: history, replies, channels, members."""

import base64
import binascii
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

    def named(self, channel: str) -> Chat:
        """As `channel`; messages may also be posted to the name of a channel."""
        named = (
            chat for chat in self._backend.chats() if chat.kind != "im" and channel in (chat.title, f"#{chat.title}")
        )
        return next(named, None) or self.channel(channel)

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
        if arguments.given("channel"):
            chat = self.channel(arguments.text("channel"))
        else:
            person = self._user(arguments.text("users"))
            if arguments.flag("prevent_creation") and self._direct_with(person) is None:
                raise SlackError("channel_not_found")
            chat = self._direct(person)
        return {"channel": payloads.channel(chat, self._backend) if arguments.flag("return_im") else {"id": chat.id}}

    def user_info(self, arguments: Arguments) -> JSON:
        return {"user": payloads.user(self._user(arguments.text("user")), self._backend)}

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
        oldest, latest = arguments.text("oldest") or "0", arguments.text("latest") or "9" * 12
        edge = {oldest, latest} if arguments.flag("inclusive") else set()
        window = [m for m in found if _number(oldest) < _number(m.id) < _number(latest) or m.id in edge]
        start = _decode(arguments.text("cursor"))
        limit = min(max(arguments.integer("limit", 100), 1), MAX_PAGE)
        page, more = window[start : start + limit], len(window) > start + limit
        metadata = arguments.flag("include_all_metadata")
        threads = {m.id: t for t in chat.threads.values() for m in t.messages} | chat.threads
        return {
            "messages": [payloads.message(m, self._backend, thread=threads.get(m.id), metadata=metadata) for m in page],
            "has_more": more,
            "response_metadata": {"next_cursor": _encode(start + limit) if more else ""},
        }

    def _user(self, user_id: str) -> Person:
        person = self._backend.person_with_id(user_id)
        if person is None:
            raise SlackError("user_not_found")
        return person

    def _direct_with(self, person: Person) -> Chat | None:
        chats = self._backend.chats()
        return next((chat for chat in chats if chat.kind == "im" and chat.people == (person.key,)), None)

    def _direct(self, person: Person) -> Chat:
        if (chat := self._direct_with(person)) is not None:
            return chat
        title = f"{person.first_name} and the bot"
        return self._backend.add_chat(SeededChat(f"D0{person.key.upper()}", title, "im", (person.key,)))


def _number(ts: str) -> float:
    try:
        return float(ts)
    except ValueError:
        raise SlackError("invalid_ts_oldest") from None


def _encode(position: int) -> str:
    return base64.b64encode(f"next:{position}".encode()).decode()


def _decode(cursor: str) -> int:
    if not cursor:
        return 0
    try:
        return int(base64.b64decode(cursor, validate=True).decode().removeprefix("next:"))
    except (binascii.Error, ValueError):
        raise SlackError("invalid_cursor") from None
