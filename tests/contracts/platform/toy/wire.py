"""The simulated toy: its API for bots, and the transactions that it sends to the webhook."""

import itertools
import json
from collections.abc import Callable
from typing import Any

from aiohttp import ClientSession, web

from local.chats.simulator.backend import Backend
from local.chats.simulator.deliveries import Event, Policy
from local.chats.simulator.faults import Operation
from local.chats.simulator.people import BOT, Person
from local.chats.simulator.protocol import Handshake
from local.chats.simulator.store import Chat, Message, NotFound, Thread

POLICY = Policy(timeout=3, retries=lambda: itertools.repeat(1.0, 10), in_order=True)


class ToyWire:
    """One bot. A handler takes the chat and the body, and returns JSON; LookupError is a 404."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._numbers = itertools.count(1)
        self._presses: dict[str, tuple[Chat, Thread | None, Message, Person]] = {}

    def routes(self) -> list[web.RouteDef]:
        table: list[tuple[str, str, Operation, Callable[[web.Request, Any], Any]]] = [
            ("GET", "/me", "read", self._me),
            ("GET", "/chats/{chat}", "read", self._show_chat),
            ("POST", "/chats/{chat}/join", "read", self._show_chat),
            ("POST", "/chats/{chat}/threads", "open_thread", self._open_thread),
            ("GET", "/chats/{chat}/threads", "read", self._find_thread),
            ("POST", "/chats/{chat}/messages", "send", self._post),
            ("GET", "/chats/{chat}/messages", "read", self._find_message),
            ("PATCH", "/chats/{chat}/messages/{message}", "edit", self._edit),
            ("POST", "/chats/{chat}/typing", "typing", self._typing),
            ("POST", "/presses/{ticket}", "send", self._acknowledge),
        ]
        base = f"/{self._backend.name}/api"
        return [
            web.route(method, base + path, self._handler(operation, handle))
            for method, path, operation, handle in table
        ]

    def place(self, chat_id: str, thread_id: str | None) -> tuple[Chat, Thread | None]:
        chat = self._backend.chat(chat_id)
        return chat, self._backend.store.thread(chat, thread_id) if thread_id else None

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str) -> Message:
        message = self._backend.store.post(chat, thread, self._next_id(), person.key, text)
        self._deliver(chat, thread, message, person.id)
        return message

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:
        number = self._next_id()
        self._presses[f"p{number}"] = (chat, thread, message, person)
        pressed = {"kind": "press", "id": number, "button": button, "message": message.id, "ticket": f"p{number}"}
        self._send(chat, thread, person.id, {**pressed, "private": chat.kind == "note"})

    def remove_thread(self, chat: Chat, thread_id: str) -> None:
        self._backend.store.remove_thread(chat, self._backend.store.thread(chat, thread_id))

    async def verify(self) -> Handshake:
        query = {"token": self._backend.secret("webhook_secret"), "challenge": "xyzzy"}
        async with ClientSession() as session, session.get(self._backend.webhook() or "", params=query) as answer:
            text = await answer.text()
        return Handshake(ok=text == "xyzzy", detail=text)

    def webhook_changed(self) -> None:
        pass  # deliveries wait by themselves

    async def disconnect(self) -> None:
        pass  # no connection stays open

    def _handler(self, operation: Operation, handle: Callable[[web.Request, Any], Any]) -> Any:
        async def handler(request: web.Request) -> web.Response:
            if request.headers.get("Authorization") != f"Bearer {self._backend.secret('bot_token')}":
                return _refused(401, "wrong token")
            body = await request.json() if request.can_read_body else {}
            self._backend.record(f"{request.method} {request.path}", body)

            async def act() -> web.Response:
                try:
                    return web.json_response(handle(request, body))
                except NotFound as error:
                    return _refused(404, str(error))
                except ValueError as error:
                    return _refused(409, str(error))

            return await self._backend.perform(
                request,
                operation,
                act,
                {
                    "rate_limit": lambda fault: _refused(429, "slower", {"Retry-After": str(fault.seconds)}),
                    "forbidden": lambda _: _refused(403, "forbidden"),
                    "server_error": lambda _: _refused(500, "broken"),
                },
            )

        return handler

    def _me(self, _: web.Request, __: Any) -> Any:
        return {"name": "Handoff", "webhook": self._backend.webhook()}

    def _show_chat(self, request: web.Request, _: Any) -> Any:
        chat = self._chat(request)
        return {
            "id": chat.id,
            "title": chat.title,
            "threads": self._has_threads(chat),
            "people": [self._backend.person(key).id for key in chat.people],
            "private": chat.kind == "note",
        }

    def _open_thread(self, request: web.Request, body: Any) -> Any:
        chat = self._chat(request)
        if not self._has_threads(chat):
            raise ValueError("a chat of this kind has no threads")
        thread = self._thread_with(chat, body["key"])
        if thread is None:
            thread = self._backend.store.open_thread(chat, self._next_id(), body["title"], BOT, key=body["key"])
        return {"id": thread.id}

    def _find_thread(self, request: web.Request, _: Any) -> Any:
        thread = self._thread_with(self._chat(request), request.query["key"])
        return {"id": thread.id if thread else None}

    def _post(self, request: web.Request, body: Any) -> Any:
        chat = self._chat(request)
        thread = self._backend.store.thread(chat, body["thread"]) if body["thread"] else None
        if (message := self._message_with(chat, body["key"])) is None:
            message = self._backend.store.post(
                chat, thread, self._next_id(), BOT, body["text"], buttons=body["buttons"], key=body["key"]
            )
            self._deliver(chat, thread, message, BOT)
        return {"id": message.id}

    def _find_message(self, request: web.Request, _: Any) -> Any:
        message = self._message_with(self._chat(request), request.query["key"])
        return {"id": message.id if message else None}

    def _edit(self, request: web.Request, body: Any) -> Any:
        chat = self._chat(request)
        thread, message = self._backend.store.find(chat, request.match_info["message"])
        self._backend.store.edit(chat, thread, message, body["text"], buttons=body["buttons"])
        return {}

    def _acknowledge(self, request: web.Request, body: Any) -> Any:
        try:
            chat, thread, message, person = self._presses[request.match_info["ticket"]]
        except KeyError:
            raise NotFound("there is no such press") from None
        self._backend.store.acknowledge(chat, thread, message, person.key, body["text"])
        return {}

    def _typing(self, request: web.Request, body: Any) -> Any:
        self._backend.store.typing(self._chat(request), body["thread"], 5)
        return {}

    def _chat(self, request: web.Request) -> Chat:
        return self._backend.chat(request.match_info["chat"].lower())

    def _has_threads(self, chat: Chat) -> bool:
        return self._backend.platform.kinds[chat.kind].threads

    def _thread_with(self, chat: Chat, key: str) -> Thread | None:
        return next((thread for thread in chat.threads.values() if thread.extra["key"] == key), None)

    def _message_with(self, chat: Chat, key: str) -> Message | None:
        everywhere = itertools.chain(chat.messages, *(thread.messages for thread in chat.threads.values()))
        return next((message for message in everywhere if message.extra.get("key") == key), None)

    def _next_id(self) -> str:
        return str(next(self._numbers))

    def _deliver(self, chat: Chat, thread: Thread | None, message: Message, sender: str) -> None:
        self._send(chat, thread, sender, {"kind": "message", "id": message.id, "text": message.text})

    def _send(self, chat: Chat, thread: Thread | None, sender: str, what: dict[str, Any]) -> None:
        event = {**what, "chat": chat.id, "from": sender, **({"thread": thread.id} if thread else {})}
        secret = self._backend.secret("webhook_secret")

        def url() -> str | None:
            webhook = self._backend.webhook()
            return f"{webhook}/transactions/{what['id']}" if webhook else None

        self._backend.deliveries.send(
            Event(
                platform=self._backend.name,
                id=what["id"],
                lane=chat.id,
                url=url,
                body=json.dumps({"events": [event]}).encode(),
                sign=lambda _, __: {"Authorization": f"Bearer {secret}"},
                policy=POLICY,
                method="PUT",
            )
        )


def _refused(status: int, error: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"error": error}, status=status, headers=headers)
