"""The store behind all protocols: chats, threads, messages, typing. In memory, without HTTP."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from local.chats.simulator.files import FileStore
from local.chats.spec import LocalChat, SeededChat

Button = dict[str, str]
"""`id`, `label` and `style` (default, primary or danger)."""


_TITLE = 200


class NotFound(LookupError):
    """There is no such chat, thread or message."""


@dataclass
class Message:
    """`author` is a person's key; `extra` belongs to the platform's protocol, but for what is of a `Beside`.

    `acknowledged` are the answers to presses of its buttons, each to one person.
    """

    id: str
    author: str
    text: str
    at: float
    edited_at: float | None = None
    buttons: list[Button] = field(default_factory=list)
    acknowledged: list[dict[str, str]] = field(default_factory=list)  # the person's key, and the text
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Beside:
    """What comes with a person's text: descriptions of files, and other attachments by kind, as in shared/domain/attachments.py.

    `forwarded`: the person did not write the text.
    """

    attachments: tuple[str, ...] = ()
    forwarded: bool = False
    files: tuple[dict[str, Any], ...] = ()

    @property
    def extra(self) -> dict[str, Any]:
        """What the store keeps of it."""
        kept = {"attachments": list(self.attachments), "forwarded": self.forwarded, "files": list(self.files)}
        return {name: value for name, value in kept.items() if value}

    def one_by_one(self) -> list["Beside"]:
        """For platforms that send each in a message of its own."""
        files = [Beside((), self.forwarded, (file,)) for file in self.files]
        return [*files, *(Beside((kind,), self.forwarded) for kind in self.attachments)] or [self]


PLAIN = Beside()


@dataclass
class Thread:
    """A place inside a chat; `starter` is the message it hangs on, where the platform has one."""

    id: str
    title: str
    opener: str
    at: float
    messages: list[Message] = field(default_factory=list)
    members: set[str] = field(default_factory=set)
    starter: str | None = None
    private: bool = False  # only its members see it
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class Chat:
    """A chat with its own messages and its threads, both in order."""

    platform: str
    id: str
    title: str
    kind: str
    people: tuple[str, ...]
    home: bool
    has_bot: bool = True
    messages: list[Message] = field(default_factory=list)
    threads: dict[str, Thread] = field(default_factory=dict)

    def who_sees(self, thread: Thread | None) -> list[str]:
        """The people who can read and write there; the bot is not one of them."""
        return [key for key in self.people if thread is None or not thread.private or key in thread.members]


@dataclass(frozen=True)
class Change:
    """One change; `kind` is chat, thread, message, edit, typing or gone."""

    kind: str
    chat: Chat
    thread_id: str | None = None
    message: Message | None = None
    title: str | None = None
    people: tuple[str, ...] | None = None
    until: float | None = None


class Store:
    """Needs no lock: only the simulator's event loop uses it."""

    def __init__(self, platforms: Iterable[LocalChat], clock: Callable[[], float]) -> None:
        self._clock = clock
        self.files = FileStore(int(clock() * 1000))
        self._chats: dict[tuple[str, str], Chat] = {}
        self._typing: dict[tuple[str, str, str | None], float] = {}
        self._listeners: list[Callable[[Change], None]] = []
        for platform in platforms:
            for chat in platform.chats:
                self.add_chat(platform.name, chat, home=chat.id == platform.homes.get("owner"))

    def listen(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Calls `listener` on every change until the returned function is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def add_chat(self, platform: str, seed: SeededChat, *, home: bool = False) -> Chat:
        chat = Chat(platform, seed.id, seed.title, seed.kind, seed.people, home)
        self._chats[platform, seed.id] = chat
        self._notify(Change("chat", chat, title=chat.title))
        return chat

    def all_chats(self) -> list[Chat]:
        return list(self._chats.values())

    def restore(self, chat: Chat) -> None:
        """Put back a chat of an earlier run, in place of the one that has its id. Listeners are not told."""
        known = self._chats.get((chat.platform, chat.id))
        if known is None or not (known.messages or known.threads):
            self._chats[chat.platform, chat.id] = chat

    def chats(self, platform: str) -> list[Chat]:
        return [chat for chat in self._chats.values() if chat.platform == platform]

    def chat(self, platform: str, chat_id: str) -> Chat:
        try:
            return self._chats[platform, chat_id]
        except KeyError:
            raise NotFound(f"{platform} has no chat {chat_id}") from None

    def thread(self, chat: Chat, thread_id: str) -> Thread:
        try:
            return chat.threads[thread_id]
        except KeyError:
            raise NotFound(f"{chat.platform} chat {chat.id} has no thread {thread_id}") from None

    def thread_of(self, chat: Chat, message_id: str) -> Thread:
        """The thread that hangs on this message of the chat, made with the first reply; raises NotFound."""
        if message_id in chat.threads:
            return chat.threads[message_id]
        starter = next((message for message in chat.messages if message.id == message_id), None)
        if starter is None:
            raise NotFound(f"{chat.platform} chat {chat.id} has no message {message_id} to reply to")
        title = (starter.text.splitlines() or [""])[0][:_TITLE]
        return self.open_thread(chat, message_id, title, starter.author, starter=message_id)

    def find(self, chat: Chat, message_id: str) -> tuple[Thread | None, Message]:
        """The message of that id in the chat or in any of its threads."""
        for thread in (None, *chat.threads.values()):
            for message in reversed((thread or chat).messages):
                if message.id == message_id:
                    return thread, message
        raise NotFound(f"{chat.platform} chat {chat.id} has no message {message_id}")

    def open_thread(
        self,
        chat: Chat,
        thread_id: str,
        title: str,
        opener: str,
        *,
        starter: str | None = None,
        private: bool = False,
        **extra: Any,
    ) -> Thread:
        thread = Thread(thread_id, title, opener, self._clock(), starter=starter, private=private, extra=extra)
        thread.members.add(opener)
        chat.threads[thread_id] = thread
        self.thread_changed(chat, thread)
        return thread

    def thread_changed(self, chat: Chat, thread: Thread) -> None:
        """Notify listeners of a new title, of members or of other data of the thread."""
        self._notify(Change("thread", chat, thread.id, title=thread.title, people=tuple(chat.who_sees(thread))))

    def post(
        self,
        chat: Chat,
        thread: Thread | None,
        message_id: str,
        author: str,
        text: str,
        *,
        buttons: Iterable[Button] = (),
        **extra: Any,
    ) -> Message:
        """Adds a message and ends its author's typing there."""
        message = Message(message_id, author, text, self._clock(), buttons=list(buttons), extra=extra)
        (thread or chat).messages.append(message)
        if thread is not None:
            thread.members.add(author)
        self._typing.pop((chat.platform, chat.id, _id(thread)), None)
        self._notify(Change("message", chat, _id(thread), message))
        return message

    def edit(
        self,
        chat: Chat,
        thread: Thread | None,
        message: Message,
        text: str,
        *,
        buttons: Iterable[Button] = (),
        **extra: Any,
    ) -> None:
        """Replaces text and buttons; of the other data only what is given."""
        message.text, message.buttons, message.edited_at = text, list(buttons), self._clock()
        message.extra.update(extra)
        self._notify(Change("edit", chat, _id(thread), message))

    def acknowledge(self, chat: Chat, thread: Thread | None, message: Message, person: str, text: str) -> None:
        """Show a person the answer to their press."""
        message.acknowledged.append({"to": person, "text": text})
        self._notify(Change("edit", chat, _id(thread), message))

    def remove_message(self, chat: Chat, thread: Thread | None, message: Message) -> None:
        (thread or chat).messages.remove(message)
        self._notify(Change("gone", chat, _id(thread), message))

    def remove_thread(self, chat: Chat, thread: Thread) -> None:
        del chat.threads[thread.id]
        self._notify(Change("gone", chat, thread.id))

    def remove_chat(self, chat: Chat) -> None:
        del self._chats[chat.platform, chat.id]
        self._notify(Change("gone", chat))

    def typing(self, chat: Chat, thread_id: str | None, seconds: float) -> None:
        """Show the bot as typing for some seconds; zero ends it. The thread may have no reply yet."""
        until = self._clock() + seconds
        self._typing[chat.platform, chat.id, thread_id] = until
        self._notify(Change("typing", chat, thread_id, until=until))

    def typing_in(self, chat: Chat) -> dict[str | None, float]:
        """When the typing ends, for the chat (None) and each of its threads."""
        return {key[2]: until for key, until in self._typing.items() if key[:2] == (chat.platform, chat.id)}

    def _notify(self, change: Change) -> None:
        for listener in tuple(self._listeners):
            listener(change)


def _id(thread: Thread | None) -> str | None:
    return thread.id if thread else None
