"""Buttons below messages: their limits, and the presses that wait for an answer."""

import itertools
from dataclasses import dataclass
from typing import Any

from local.chats.simulator.backend import Backend
from local.chats.simulator.people import Person
from local.chats.simulator.store import Button, Chat, Message, Thread
from local.chats.telegram.wire import payloads
from local.chats.telegram.wire.arguments import Arguments, TelegramError
from local.chats.telegram.wire.updates import Updates

JSON = dict[str, Any]
MAX_DATA = 64
MAX_NOTICE = 200
MAX_BUTTONS = 100
ANSWER_SECONDS = 60.0
_STYLES = ("primary", "success", "danger")
_TOO_OLD = "Bad Request: query is too old and response timeout expired or query ID is invalid"


def shown_below(arguments: Arguments) -> JSON:
    """The buttons in a call, as rows and for people; only those that send data back are simulated."""
    rows: list[list[JSON]] = arguments.object("reply_markup").get("inline_keyboard", [])
    for button in itertools.chain.from_iterable(rows):
        if not str(button.get("text", "")).strip():
            raise TelegramError('Bad Request: can\'t parse inline keyboard button: field "text" must be non-empty')
        if not 1 <= len(str(button.get("callback_data", "")).encode()) <= MAX_DATA:
            raise TelegramError("Bad Request: BUTTON_DATA_INVALID")
        if button.get("style") not in (None, *_STYLES):
            raise TelegramError("Bad Request: can't parse inline keyboard button: invalid button style specified")
    if sum(map(len, rows)) > MAX_BUTTONS:
        raise TelegramError("Bad Request: reply markup is too long")
    shown: list[Button] = [
        {"id": button["callback_data"], "label": button["text"], "style": button.get("style", "default")}
        for button in itertools.chain.from_iterable(rows)
    ]
    return {"keyboard": [row for row in rows if row], "buttons": shown}


@dataclass(frozen=True)
class _Press:
    chat: Chat
    thread: Thread | None
    message: Message
    person: Person
    until: float


class Presses:
    """Presses of people. Each can be answered for a while, by its id."""

    def __init__(self, backend: Backend, updates: Updates) -> None:
        self._backend, self._updates = backend, updates
        self._ids = itertools.count(1)
        self._open: dict[str, _Press] = {}

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:
        # The upper half of an id is the person's, so that ids of several people are not in the order of presses.
        query_id = str((int(person.id) << 32) + next(self._ids))
        self._open[query_id] = _Press(chat, thread, message, person, self._backend.clock() + ANSWER_SECONDS)
        self._updates.add(
            "callback_query",
            {
                "id": query_id,
                "from": payloads.user(person),
                "message": payloads.message(message, chat, thread, self._backend),
                "chat_instance": str(-(2**62) + int(chat.id)),
                "data": button,
            },
        )

    def answer(self, arguments: Arguments) -> bool:
        press = self._open.get(arguments.text("callback_query_id"))
        if press is None or self._backend.clock() > press.until:
            raise TelegramError(_TOO_OLD)
        text = arguments.text("text")
        if payloads.utf16_length(text) > MAX_NOTICE:
            raise TelegramError("Bad Request: MESSAGE_TOO_LONG")
        if text:
            self._backend.store.acknowledge(press.chat, press.thread, press.message, press.person.key, text)
        return True
