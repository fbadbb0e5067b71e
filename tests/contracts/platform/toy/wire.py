"""The simulated toy: its API for bots, and the transactions and presses that it posts."""

import itertools
import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from local.chats.simulator.backend import Backend
from local.chats.simulator.deliveries import Event, Policy
from local.chats.simulator.files import SentFile
from local.chats.simulator.json_wire import JSON, JsonWire, Refused, Table
from local.chats.simulator.people import BOT, Person
from local.chats.simulator.protocol import Handshake, ask_by_query
from local.chats.simulator.store import PLAIN, Beside, Chat, Message, NotFound, Thread
from shared.domain.attachments import KINDS

POLICY = Policy(timeout=3, retries=lambda: itertools.repeat(1.0, 10), in_order=True)
LONGEST_TITLE = 60
LONGEST_CAPTION = 200
LARGEST = 1_000_000


def refused(status: int, error: str, headers: dict[str, str] | None = None) -> Refused:
    return Refused(status, {"error": error}, headers)


class ToyWire(JsonWire):
    """One bot. A webhook names a message and holds no text; its secret stands in the body."""

    attachments = tuple(KINDS)
    forwards = True

    malformed = refused(400, "not JSON")
    faults = {  # noqa: RUF012  # never changed
        "rate_limit": lambda fault: refused(429, "slower", {"Retry-After": str(fault.seconds)}),
        "forbidden": lambda _: refused(403, "forbidden"),
        "server_error": lambda _: refused(500, "broken"),
    }

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._numbers = itertools.count(1)

    def routes(self) -> list[web.RouteDef]:
        chat = "/chats/{chat}"
        table: Table = [
            ("GET", "/me", "read", lambda *_: {"name": "Handoff", "webhook": self._backend.webhook()}),
            ("GET", chat, "read", self._show_chat),
            ("POST", f"{chat}/join", "read", self._show_chat),
            ("POST", f"{chat}/threads", "open_thread", self._open_thread),
            ("GET", f"{chat}/threads", "read", self._find_threads),
            ("POST", f"{chat}/messages", "send", self._post),
            ("POST", f"{chat}/files", "send", self._post_file),
            ("GET", f"{chat}/messages", "read", self._find_messages),
            ("GET", f"{chat}/messages/{{message}}", "read", self._show_message),
            ("PATCH", f"{chat}/messages/{{message}}", "edit", self._edit),
            ("POST", f"{chat}/typing", "typing", self._typing),
        ]
        files = web.get(f"/{self._backend.name}/api/files/{{file}}", self._download)
        return [*self.served(f"/{self._backend.name}/api", table), files]

    def authorize(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {self._backend.secret('bot_token')}":
            raise refused(401, "wrong token")

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str, beside: Beside = PLAIN) -> Message:
        message = self._backend.store.post(chat, thread, self._next_id(), person.key, text, **beside.extra)
        self._announce(chat, thread, message, person.id)
        return message

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:
        """Goes to the URL that the bot gave with the button; the response is shown to the person."""
        (url,) = [shown["url"] for shown in message.buttons if shown["id"] == button]
        pressed = {"kind": "press", "id": self._next_id(), "button": button, "message": message.id}

        def answered(body: bytes) -> None:
            if shown := json.loads(body or b"{}").get("shown"):
                self._backend.store.acknowledge(chat, thread, message, person.key, shown)

        event = self._event(chat, thread, person.id, {**pressed, "private": _is_private(chat)})
        self._deliver(chat, event, lambda: url, method="POST", answered=answered)

    async def verify(self) -> Handshake:
        query = {"token": self._backend.secret("webhook_secret"), "challenge": "xyzzy"}
        status, text = await ask_by_query(self._backend.webhook() or "", query)
        return Handshake(ok=(status, text) == (200, "xyzzy"), detail=text)

    def _show_chat(self, request: web.Request, _: JSON) -> JSON:
        chat = self._chat(request)
        return {
            "id": chat.id,
            "title": chat.title,
            "threads": self._has_threads(chat),
            "people": [self._backend.person(key).id for key in chat.people],
            "private": _is_private(chat),
            "member": chat.has_bot,
        }

    def _open_thread(self, request: web.Request, body: JSON) -> JSON:
        chat = self._chat(request)
        if not self._has_threads(chat):
            raise refused(409, "a chat of this kind has no threads")
        if not 0 < len(body["title"]) <= LONGEST_TITLE:
            raise refused(400, "the title is empty or too long")
        ours = [thread for thread in self._threads_with(chat, body["key"]) if thread.opener == BOT]
        thread = ours[0] if ours else self._new_thread(chat, body)
        return {"id": thread.id}

    def _new_thread(self, chat: Chat, body: JSON) -> Thread:
        thread = self._backend.store.open_thread(chat, self._next_id(), body["title"], BOT, key=body["key"])
        thread.members |= {person.key for person in self._backend.people if person.id in body["people"]}
        self._backend.store.thread_changed(chat, thread)
        return thread

    def _find_threads(self, request: web.Request, _: JSON) -> Any:
        found = self._threads_with(self._chat(request), request.query["key"])
        return [{"id": thread.id, "from": self._backend.person(thread.opener).id} for thread in found]

    def _post(self, request: web.Request, body: JSON) -> JSON:
        chat = self._chat(request)
        thread = self._thread(chat, body["thread"])
        ours = [message for message in self._messages_with(chat, body["key"]) if message.author == BOT]
        if ours:
            return {"id": ours[0].id}
        message = self._backend.store.post(
            chat, thread, self._next_id(), BOT, body["text"], buttons=body["buttons"], key=body["key"]
        )
        self._announce(chat, thread, message, BOT)
        return {"id": message.id}

    def _post_file(self, request: web.Request, form: JSON) -> JSON:
        chat, file = self._chat(request), form.get("file")
        if not isinstance(file, SentFile) or file.size > LARGEST or len(form["text"]) > LONGEST_CAPTION:
            raise refused(413, "no file, or one that is too large")
        if ours := [message for message in self._messages_with(chat, form["key"]) if message.author == BOT]:
            return {"id": ours[0].id}
        kept = self._backend.store.files.keep(file.name, file.type, file.data)
        more = {"key": form["key"], "files": [kept]}
        thread = self._thread(chat, form["thread"])
        return {"id": self._backend.store.post(chat, thread, self._next_id(), BOT, form["text"], **more).id}

    async def _download(self, request: web.Request) -> web.StreamResponse:
        try:
            self.authorize(request)
        except Refused as error:
            return error.answer()
        return await self._backend.download(request, request.match_info["file"])

    def _find_messages(self, request: web.Request, _: JSON) -> Any:
        found = self._messages_with(self._chat(request), request.query["key"])
        return [{"id": message.id, "from": self._backend.person(message.author).id} for message in found]

    def _show_message(self, request: web.Request, _: JSON) -> JSON:
        chat, thread, message = self._message(request)
        shown: JSON = {"id": message.id, "chat": chat.id, "thread": thread.id if thread else None, "text": message.text}
        shown |= {
            "attachments": message.extra.get("attachments", []),
            "files": [
                {name: file[name] for name in ("id", "kind", "name", "type", "size")}
                for file in message.extra.get("files", [])
            ],
            "forwarded": bool(message.extra.get("forwarded")),
        }
        return {**shown, "from": self._backend.person(message.author).id, "private": _is_private(chat)}

    def _edit(self, request: web.Request, body: JSON) -> JSON:
        chat, thread, message = self._message(request)
        self._backend.store.edit(chat, thread, message, body["text"], buttons=body["buttons"])
        return {}

    def _typing(self, request: web.Request, body: JSON) -> JSON:
        self._backend.store.typing(self._chat(request), body["thread"], 5)
        return {}

    def _chat(self, request: web.Request) -> Chat:
        try:
            return self._backend.chat(request.match_info["chat"].lower())
        except NotFound as error:
            raise refused(404, str(error)) from None

    def _thread(self, chat: Chat, thread_id: str | None) -> Thread | None:
        try:
            return self._backend.store.thread(chat, thread_id) if thread_id else None
        except NotFound as error:
            raise refused(404, str(error)) from None

    def _message(self, request: web.Request) -> tuple[Chat, Thread | None, Message]:
        chat = self._chat(request)
        try:
            return chat, *self._backend.store.find(chat, request.match_info["message"])
        except NotFound as error:
            raise refused(404, str(error)) from None

    def _has_threads(self, chat: Chat) -> bool:
        return self._backend.platform.kinds[chat.kind].threads

    def _threads_with(self, chat: Chat, key: str) -> list[Thread]:
        return [thread for thread in chat.threads.values() if thread.extra["key"] == key]

    def _messages_with(self, chat: Chat, key: str) -> list[Message]:
        everywhere = itertools.chain(chat.messages, *(thread.messages for thread in chat.threads.values()))
        return [message for message in everywhere if message.extra.get("key") == key]

    def _next_id(self) -> str:
        return str(next(self._numbers))

    def _announce(self, chat: Chat, thread: Thread | None, message: Message, sender: str) -> None:
        event = self._event(chat, thread, sender, {"kind": "named", "id": message.id})

        def url() -> str | None:
            webhook = self._backend.webhook()
            return f"{webhook}/transactions/{message.id}" if webhook else None

        self._deliver(chat, event, url, method="PUT")

    def _event(self, chat: Chat, thread: Thread | None, sender: str, what: JSON) -> JSON:
        return {**what, "chat": chat.id, "from": sender, **({"thread": thread.id} if thread else {})}

    def _deliver(self, chat: Chat, event: JSON, url: Callable[[], str | None], **more: Any) -> None:
        body = {"token": self._backend.secret("webhook_secret"), "events": [event]}
        self._backend.deliveries.send(
            Event(
                platform=self._backend.name,
                id=event["id"],
                lane=chat.id,
                url=url,
                body=json.dumps(body).encode(),
                sign=lambda _, __: {},
                policy=POLICY,
                **more,
            )
        )


def _is_private(chat: Chat) -> bool:
    return chat.kind == "note"
