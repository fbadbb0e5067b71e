"""The bot's methods, with Telegram's limits and error texts."""

import itertools
from typing import Any

from local.chats.simulator.backend import Backend
from local.chats.simulator.files import SentFile
from local.chats.simulator.people import BOT
from local.chats.simulator.store import Chat, NotFound, Thread
from local.chats.telegram.wire import buttons, payloads
from local.chats.telegram.wire.arguments import Arguments, TelegramError, to_integer

MAX_TEXT = 4096
MAX_CAPTION = 1024
MAX_PHOTO, MAX_FILE, MAX_DOWNLOAD = 10 * 2**20, 50 * 2**20, 20 * 2**20
_PHOTOS = (b"\x89PNG\r\n", b"\xff\xd8\xff", b"RIFF")
MAX_TOPIC_NAME = 128
MAX_ENTITIES = 100
TYPING_SECONDS = 5.0
NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)


class Methods:
    """Each method takes the call's arguments and returns the `result`."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        # Message ids count per supergroup; private chats and groups share the bot's counter.
        self._numbers: dict[str, itertools.count[int]] = {}

    def next_id(self, chat: Chat) -> str:
        is_forum = chat.kind == "forum"
        key = chat.id if is_forum else "shared"
        if key not in self._numbers:
            sharing = [chat] if is_forum else [other for other in self._backend.chats() if other.kind != "forum"]
            self._numbers[key] = itertools.count(1 + max(map(_last_number, sharing), default=1))
        return str(next(self._numbers[key]))

    def get_me(self, _: Arguments) -> Any:
        return payloads.me(self._backend)

    def get_chat(self, arguments: Arguments) -> Any:
        return payloads.full_chat(self.chat(arguments), self._backend)

    def get_chat_member(self, arguments: Arguments) -> Any:
        chat, wanted = self.chat(arguments), arguments.text("user_id")
        person = self._backend.person_with_id(wanted)
        member = payloads.member(person, chat, self._backend) if person else None
        if member is None:
            raise TelegramError("Bad Request: user not found")
        return member

    def create_forum_topic(self, arguments: Arguments) -> Any:
        chat, name = self._forum(arguments), arguments.text("name").strip()[:MAX_TOPIC_NAME]
        if not name:
            raise TelegramError("Bad Request: TOPIC_TITLE_EMPTY")
        thread = self._backend.store.open_thread(chat, self.next_id(chat), name, BOT, first_title=name)
        return payloads.topic(thread)

    def close_forum_topic(self, arguments: Arguments) -> Any:
        thread = self._place(self._forum(arguments), arguments)
        if thread is None or thread.extra.get("closed"):
            raise TelegramError("Bad Request: TOPIC_NOT_MODIFIED")
        thread.extra["closed"] = True
        return True

    def send_message(self, arguments: Arguments) -> Any:
        chat = self.chat(arguments)
        thread = self._place(chat, arguments)
        text, entities = self._content(arguments, too_long="Bad Request: message is too long")
        shown = {"entities": entities, **buttons.shown_below(arguments)}
        message = self._backend.store.post(chat, thread, self.next_id(chat), BOT, text, **shown)
        return payloads.message(message, chat, thread, self._backend)

    def send_photo(self, arguments: Arguments) -> Any:
        file = arguments.file("photo")
        if file.size > MAX_PHOTO or not file.data.startswith(_PHOTOS):
            raise TelegramError(
                "Bad Request: PHOTO_INVALID_DIMENSIONS" if file.size else "Bad Request: file must be non-empty"
            )
        return self._post_file(arguments, "picture", file)

    def send_document(self, arguments: Arguments) -> Any:
        file = arguments.file("document")
        if not file.size:
            raise TelegramError("Bad Request: file must be non-empty")
        if file.size > MAX_FILE:
            raise TelegramError("Request Entity Too Large", code=413)
        return self._post_file(arguments, "file", file)

    def get_file(self, arguments: Arguments) -> Any:
        number = arguments.text("file_id").removeprefix("AgACAgIAAx")
        content = self._backend.store.files.content(number)
        if content is None:
            raise TelegramError("Bad Request: wrong file_id or the file is temporarily unavailable")
        if len(content) > MAX_DOWNLOAD:
            raise TelegramError("Bad Request: file is too big")
        named = {"file_id": arguments.text("file_id"), "file_unique_id": f"AQAD{number}", "file_size": len(content)}
        return {**named, "file_path": f"documents/file_{number}"}

    def _post_file(self, arguments: Arguments, kind: str, file: SentFile) -> Any:
        chat = self.chat(arguments)
        thread, caption = self._place(chat, arguments), arguments.text("caption").strip()
        if payloads.utf16_length(caption) > MAX_CAPTION:
            raise TelegramError("Bad Request: message caption is too long")
        kept = self._backend.store.files.keep(file.name, file.type, file.data, kind=kind)
        shown = {"entities": arguments.items("caption_entities"), "files": [kept]}
        message = self._backend.store.post(chat, thread, self.next_id(chat), BOT, caption, **shown)
        return payloads.message(message, chat, thread, self._backend)

    def edit_message_text(self, arguments: Arguments) -> Any:
        chat = self.chat(arguments)
        try:
            thread, message = self._backend.store.find(chat, arguments.text("message_id"))
        except NotFound:
            raise TelegramError("Bad Request: message to edit not found") from None
        if message.author != BOT:
            raise TelegramError("Bad Request: message can't be edited")
        text, entities = self._content(arguments, too_long="Bad Request: MESSAGE_TOO_LONG")
        shown = {"entities": entities, **buttons.shown_below(arguments)}
        before = {**message.extra, "buttons": message.buttons}
        if text == message.text and shown == {name: before.get(name) for name in shown}:
            raise TelegramError(NOT_MODIFIED)
        self._backend.store.edit(chat, thread, message, text, **shown)
        return payloads.message(message, chat, thread, self._backend)

    def send_chat_action(self, arguments: Arguments) -> Any:
        chat = self.chat(arguments)
        if arguments.text("action") != "typing":
            raise TelegramError("Bad Request: wrong parameter action in request")
        thread = self._place(chat, arguments)
        self._backend.store.typing(chat, thread.id if thread else None, TYPING_SECONDS)
        return True

    def chat(self, arguments: Arguments) -> Chat:
        chat_id = arguments.text("chat_id")
        if not chat_id:
            raise TelegramError("Bad Request: chat_id is empty")
        try:
            return self._backend.chat(str(to_integer(chat_id)))
        except NotFound:
            raise TelegramError("Bad Request: chat not found") from None

    def _forum(self, arguments: Arguments) -> Chat:
        """The chat, if the bot may have topics in it."""
        chat = self.chat(arguments)
        if chat.kind == "group" or (chat.kind == "private" and not self._backend.options.topics):
            raise TelegramError("Bad Request: the chat is not a forum")
        if chat.kind == "forum" and not self._backend.options.admin:
            raise TelegramError("Bad Request: not enough rights to create a topic")
        return chat

    def _place(self, chat: Chat, arguments: Arguments) -> Thread | None:
        """The given topic, if any; ignored in a chat that cannot have topics, as on Telegram."""
        if not arguments.integer("message_thread_id") or chat.kind == "group":
            return None
        try:
            return self._backend.store.thread(chat, arguments.text("message_thread_id"))
        except NotFound:
            raise TelegramError("Bad Request: message thread not found") from None

    def _content(self, arguments: Arguments, *, too_long: str) -> tuple[str, list[Any]]:
        if arguments.text("parse_mode"):
            raise TelegramError("Bad Request: unsupported parse_mode")  # the simulator supports entities, not markup
        entities = arguments.items("entities")[:MAX_ENTITIES]
        text = arguments.text("text").rstrip() if entities else arguments.text("text").strip()
        length = payloads.utf16_length(text)
        if not text:
            raise TelegramError("Bad Request: message text is empty")
        if length > MAX_TEXT:
            raise TelegramError(too_long)
        for entity in entities:
            if entity["offset"] + entity["length"] > payloads.utf16_length(arguments.text("text")):
                raise TelegramError(
                    f"Bad Request: entity beginning at UTF-16 offset {entity['offset']} "
                    f"ends after the end of the text at UTF-16 offset {entity['offset'] + entity['length']}"
                )
        return text, [{**e, "length": min(e["length"], length - e["offset"])} for e in entities]


def _last_number(chat: Chat) -> int:
    """The greatest id in a chat, which may be from an earlier run; 1 if it is empty."""
    threads = list(chat.threads.values())
    messages = [*chat.messages, *(message for thread in threads for message in thread.messages)]
    return max([1, *(int(message.id) for message in messages), *(int(thread.id) for thread in threads)])
