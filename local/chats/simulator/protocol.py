"""The port between the simulator and a platform's protocol, and the check that platforms make of a webhook URL."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from local.chats.simulator.people import Person
from local.chats.simulator.store import Chat, Message, Thread

TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True)
class Handshake:
    """Whether the webhook was accepted; `detail` tells a person what it answered."""

    ok: bool
    detail: str


class Wire(Protocol):
    """A platform's protocol, made as `Wire(backend)`. It serves the bot's calls and sends it events."""

    def routes(self) -> list[web.RouteDef]:
        """The platform's API, under a path that begins with the platform's name."""

    def place(self, chat_id: str, thread_id: str | None) -> tuple[Chat, Thread | None]:
        """Where a person writes; raises NotFound."""

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str) -> Message:
        """Store what a person writes and send the event for it."""

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:
        """Send the event for a press of one of the message's buttons. The answer goes to `Store.acknowledge`."""

    def remove_thread(self, chat: Chat, thread_id: str) -> None:
        """Delete a thread as a person would; raises NotFound."""

    async def verify(self) -> Handshake:
        """Send the webhook the question with which the platform checks a new URL."""

    def webhook_changed(self) -> None:
        """The webhook URL changed: send events that waited for one."""

    async def disconnect(self) -> None:
        """Close the bot's open connections, as platforms do from time to time."""


async def ask(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int | None, Any]:
    """POST one question; returns status and JSON (or text) of the answer, or no status if there was no answer."""
    headers = {"Content-Type": "application/json", **headers}
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=TIMEOUT_SECONDS)) as session,
            session.post(url, data=body, headers=headers) as response,
        ):
            text = await response.text()
    except (ClientError, TimeoutError, OSError):
        return None, None
    try:
        return response.status, json.loads(text)
    except ValueError:
        return response.status, text
