"""`/bot<token>/<method>`: authentication, dispatch, and the form of answers and errors."""

import math
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from local.chats.simulator.backend import Backend
from local.chats.simulator.faults import Fault, Operation
from local.chats.simulator.json_wire import HttpWire, Refused
from local.chats.simulator.people import Person
from local.chats.simulator.protocol import Handshake
from local.chats.simulator.store import PLAIN, Beside, Chat, Message, Thread
from local.chats.telegram.wire import payloads
from local.chats.telegram.wire.arguments import Arguments, TelegramError, arguments_of
from local.chats.telegram.wire.buttons import Presses
from local.chats.telegram.wire.methods import Methods
from local.chats.telegram.wire.updates import Updates

Call = Callable[[Arguments], Any]


def _rate_limited(fault: Fault) -> Refused:
    seconds = math.ceil(fault.seconds)
    body = {"ok": False, "error_code": 429, "description": f"Too Many Requests: retry after {seconds}"}
    return Refused(429, {**body, "parameters": {"retry_after": seconds}}, {"Retry-After": str(seconds)})


class Telegram(HttpWire):
    """One bot on Telegram: its HTTP API, and the messages of people."""

    attachments = (*payloads.FILES, *payloads.ATTACHED)
    forwards = True

    faults = {  # noqa: RUF012  # never changed
        "rate_limit": _rate_limited,
        "forbidden": lambda _: TelegramError("Forbidden: bot was kicked from the supergroup chat", code=403),
        "server_error": lambda _: TelegramError("Bad Gateway", code=502),
    }

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._bot = bot = Methods(backend)
        self._updates = updates = Updates(backend)
        self._presses = presses = Presses(backend, updates)
        # Telegram accepts method names in any case.
        self._methods: dict[str, tuple[Operation, Call]] = {
            "getme": ("read", bot.get_me),
            "getchat": ("read", bot.get_chat),
            "getchatmember": ("read", bot.get_chat_member),
            "createforumtopic": ("open_thread", bot.create_forum_topic),
            "closeforumtopic": ("edit", bot.close_forum_topic),
            "sendmessage": ("send", bot.send_message),
            "sendphoto": ("send", bot.send_photo),
            "senddocument": ("send", bot.send_document),
            "getfile": ("read", bot.get_file),
            "editmessagetext": ("edit", bot.edit_message_text),
            "sendchataction": ("typing", bot.send_chat_action),
            "answercallbackquery": ("read", presses.answer),
            "getupdates": ("read", updates.get),
            "setwebhook": ("read", updates.set_webhook),
            "deletewebhook": ("read", updates.set_webhook),
            "getwebhookinfo": ("read", lambda _: updates.info()),
        }

    def routes(self) -> list[web.RouteDef]:
        path = "/telegram/bot{token}/{method}"
        files = web.get("/telegram/file/bot{token}/{kind}/{file}", self._download)
        return [web.get(path, self._call), web.post(path, self._call), files]

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str, beside: Beside = PLAIN) -> Message:
        """Several attachments are an album: messages of their own, of which the first has the caption."""
        one, *more = beside.one_by_one()
        first = self._post(chat, thread, person, text, one)
        album = f"1{first.id:0>16}" if more else None
        first.extra["album"] = album
        others = [self._post(chat, thread, person, "", another, album=album) for another in more]
        for message in (first, *others):
            self._updates.add("message", payloads.message(message, chat, thread, self._backend))
        return first

    def _post(
        self, chat: Chat, thread: Thread | None, person: Person, text: str, beside: Beside, **extra: Any
    ) -> Message:
        number = self._bot.next_id(chat)
        return self._backend.store.post(chat, thread, number, person.key, text, **beside.extra, **extra)

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:
        self._presses.press(chat, thread, person, message, button)

    async def verify(self) -> Handshake:
        return Handshake(
            ok=self._updates.webhook_url is not None, detail="Telegram checks nothing, it only needs a URL"
        )

    def webhook_changed(self) -> None:
        self._updates.flush()

    async def _download(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self._backend.secret("bot_token"):
            return TelegramError("Unauthorized", code=401).answer()
        return await self._backend.download(request, request.match_info["file"].removeprefix("file_"))

    async def _call(self, request: web.Request) -> web.Response:
        name = request.match_info["method"]
        if request.match_info["token"] != self._backend.secret("bot_token"):
            return TelegramError("Unauthorized", code=401).answer()
        if name.lower() not in self._methods:
            return TelegramError("Not Found", code=404).answer()
        try:
            arguments = await arguments_of(request)
        except TelegramError as error:
            return error.answer()
        operation, method = self._methods[name.lower()]

        async def act() -> Any:
            result = method(arguments)
            return {"ok": True, "result": await result if isinstance(result, Awaitable) else result}

        return await self.respond(request, name, operation, arguments.all(), act)
