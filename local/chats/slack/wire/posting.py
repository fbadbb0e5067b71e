"""Slack's write methods: post, update, delete, status, with its limits and error names."""

import re
import uuid
from typing import Any

from local.chats.simulator.backend import Backend
from local.chats.simulator.people import BOT
from local.chats.simulator.store import Chat, Message, NotFound, Thread
from local.chats.slack.wire import payloads
from local.chats.slack.wire.arguments import Arguments, SlackError
from local.chats.slack.wire.blocks import MAX_MARKDOWN, buttons_in, checked, text_of
from local.chats.slack.wire.conversations import Conversations
from local.chats.slack.wire.events import Events

JSON = dict[str, Any]
MAX_TEXT = 40_000  # longer text is cut, not rejected
STATUS_SECONDS = 120.0
_TS = re.compile(r"\d{10}\.\d{6}")


class Posting:
    """The `chat.*` methods; as on Slack, every message becomes an event, also the bot's own."""

    def __init__(self, backend: Backend, conversations: Conversations, events: Events) -> None:
        self._backend, self._conversations, self._events = backend, conversations, events
        self._last_ts = 0

    def next_ts(self) -> str:
        """Seconds and microseconds; unique and increasing."""
        self._last_ts = max(self._last_ts + 1, int(self._backend.clock() * 1_000_000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def say(self, chat: Chat, thread: Thread | None, author: str, text: str, **extra: Any) -> Message:
        message = self._backend.store.post(
            chat, thread, self.next_ts(), author, text, client_msg_id=str(uuid.uuid4()), **extra
        )
        self._events.message(chat, thread, message)
        return message

    def post(self, arguments: Arguments) -> JSON:
        chat = self._conversations.joined(self._conversations.channel(arguments.text("channel")))
        text, extra = self._content(arguments)
        thread_ts = arguments.text("thread_ts")
        if thread_ts and not _TS.fullmatch(thread_ts):
            raise SlackError("invalid_thread_ts")
        # Slack accepts a reply to a deleted message: it posts it in the channel, and the answer has no thread_ts.
        _, parent = self._conversations.parent(chat, thread_ts)
        thread = self._backend.store.thread_of(chat, thread_ts) if parent else None
        message = self.say(chat, thread, BOT, text, **extra)
        shown = payloads.message(message, self._backend, thread=thread, metadata=True)
        return {"channel": chat.id, "ts": message.id, "message": shown}

    def update(self, arguments: Arguments) -> JSON:
        chat = self._conversations.channel(arguments.text("channel"))
        thread, message = self._mine(chat, arguments.text("ts"), "cant_update_message")
        text, extra = self._content(arguments)
        before = payloads.message(message, self._backend, thread=thread)
        self._backend.store.edit(chat, thread, message, text, **extra)
        self._events.changed(chat, thread, message, before)
        shown = payloads.message(message, self._backend, thread=thread, metadata=True)
        return {"channel": chat.id, "ts": message.id, "text": shown["text"], "message": shown}

    def delete(self, arguments: Arguments) -> JSON:
        chat = self._conversations.channel(arguments.text("channel"))
        thread, message = self._mine(chat, arguments.text("ts"), "cant_delete_message")
        self._backend.store.remove_message(chat, thread, message)
        return {"channel": chat.id, "ts": message.id}

    def set_status(self, arguments: Arguments) -> JSON:
        chat = self._conversations.channel(arguments.text("channel_id"))
        thread_ts = arguments.text("thread_ts")
        if self._conversations.parent(chat, thread_ts)[1] is None:
            raise SlackError("invalid_thread_ts")
        self._backend.store.typing(chat, thread_ts, STATUS_SECONDS if arguments.text("status") else 0.0)
        return {}

    def _mine(self, chat: Chat, ts: str, error: str) -> tuple[Thread | None, Message]:
        try:
            thread, message = self._backend.store.find(chat, ts)
        except NotFound:
            raise SlackError("message_not_found") from None
        if message.author != BOT:
            raise SlackError(error)
        return thread, message

    def _content(self, arguments: Arguments) -> tuple[str, JSON]:
        text, extra = arguments.text("text")[:MAX_TEXT], {**_metadata(arguments), "blocks": None}
        blocks = arguments.parsed("blocks", "invalid_blocks_format")
        if arguments.given("markdown_text"):
            if text or blocks:
                raise SlackError("markdown_text_conflict")
            text = arguments.text("markdown_text")
            if len(text) > MAX_MARKDOWN:
                raise SlackError("msg_too_long")
            extra["blocks"] = [{"type": "markdown", "block_id": "b1", "text": text}]
        elif blocks:
            extra |= {"blocks": checked(blocks), "buttons": buttons_in(blocks)}
            text, extra["summary"] = text_of(blocks) or text, text
        if not text.strip() and not blocks:
            raise SlackError("no_text")
        return text, {"summary": text, **extra}


def _metadata(arguments: Arguments) -> JSON:
    if not arguments.given("metadata"):
        return {}
    metadata = arguments.parsed("metadata", "invalid_metadata_format")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_payload"), dict):
        raise SlackError("invalid_metadata_format")
    if not metadata.get("event_type"):
        raise SlackError("invalid_metadata_schema")
    return {"metadata": {"event_type": metadata["event_type"], "event_payload": metadata["event_payload"]}}
