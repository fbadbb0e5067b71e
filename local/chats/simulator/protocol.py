"""The port between the simulator and a platform's protocol, and the check that platforms make of a webhook URL."""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from local.chats.simulator.backend import Backend
from local.chats.simulator.people import Person
from local.chats.simulator.store import PLAIN, Beside, Chat, Message, NotFound, Thread

TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True)
class Handshake:
    """Whether the webhook was accepted; `detail` tells a person what it answered."""

    ok: bool
    detail: str


class Wire(ABC):
    """A platform's protocol: it serves the bot's calls and sends it events.

    `attachments` are the kinds that people can send there. `forwards`: the platform tells the bot what was forwarded.
    """

    attachments: Collection[str] = ()
    forwards = False

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @abstractmethod
    def routes(self) -> list[web.RouteDef]:
        """The platform's API, under a path that begins with the platform's name."""

    @abstractmethod
    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str, beside: Beside = PLAIN) -> Message:
        """Store what a person writes and send the event for it, or several events where the platform makes several."""

    @abstractmethod
    async def verify(self) -> Handshake:
        """Send the webhook the question with which the platform checks a new URL."""

    def place(self, chat_id: str, thread_id: str | None) -> tuple[Chat, Thread | None]:
        """Where a person writes; raises NotFound."""
        chat, store = self._backend.chat(chat_id), self._backend.store
        if thread_id is None:
            return chat, None
        return chat, (store.thread_of if self._backend.platform.reply_threads else store.thread)(chat, thread_id)

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:  # noqa: ARG002  # platforms without buttons inherit this
        """Send the event for a press of one of the message's buttons. The answer goes to `Store.acknowledge`."""
        raise NotFound(f"{self._backend.name} message {message.id} has no buttons")

    def remove_thread(self, chat: Chat, thread_id: str) -> None:
        """Delete a thread as a person would, perhaps with the message that it hangs on; raises NotFound."""
        store = self._backend.store
        if self._backend.platform.reply_threads:
            store.remove_message(chat, *store.find(chat, thread_id))
            if thread_id not in chat.threads:  # it had no reply yet
                return
        store.remove_thread(chat, store.thread(chat, thread_id))

    def webhook_changed(self) -> None:  # noqa: B027  # the simulator wakes waiting deliveries itself
        """The webhook URL changed: send events that waited for one elsewhere."""

    async def disconnect(self) -> None:  # noqa: B027  # most keep no connection open
        """Close the bot's open connections, as platforms do from time to time."""


async def ask(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int | None, Any]:
    """POST one question; returns status and JSON (or text) of the answer, or no status if there was no answer."""
    status, text = await _answer("POST", url, data=body, headers={"Content-Type": "application/json", **headers})
    try:
        return status, json.loads(text) if status else None
    except ValueError:
        return status, text


async def ask_by_query(url: str, query: Mapping[str, str]) -> tuple[int | None, str]:
    """GET with one question in the query; returns status and text, or no status if there was no answer."""
    return await _answer("GET", url, params=query)


async def _answer(method: str, url: str, **more: Any) -> tuple[int | None, str]:
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=TIMEOUT_SECONDS)) as session,
            session.request(method, url, **more) as response,
        ):
            return response.status, await response.text()
    except (ClientError, TimeoutError, OSError):
        return None, ""
