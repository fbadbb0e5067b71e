"""`/bot<token>/<method>`: authentication, dispatch, and the form of answers and errors."""

import math
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from local.chats.simulator.backend import Backend, FaultResponses
from local.chats.simulator.faults import Fault, Operation
from local.chats.simulator.people import Person
from local.chats.simulator.protocol import Handshake, Wire
from local.chats.simulator.store import Chat, Message, Thread
from local.chats.telegram.wire import payloads
from local.chats.telegram.wire.arguments import Arguments, TelegramError, arguments_of
from local.chats.telegram.wire.buttons import Presses
from local.chats.telegram.wire.methods import Methods
from local.chats.telegram.wire.updates import Updates

Call = Callable[[Arguments], Any]


def _error(code: int, text: str, **more: Any) -> web.Response:
    return web.json_response({"ok": False, "error_code": code, "description": text, **more}, status=code)


def _rate_limited(fault: Fault) -> web.Response:
    seconds = math.ceil(fault.seconds)
    answer = _error(429, f"Too Many Requests: retry after {seconds}", parameters={"retry_after": seconds})
    answer.headers["Retry-After"] = str(seconds)
    return answer


_FORBIDDEN = {
    "private": "Forbidden: bot was blocked by the user",
    "group": "Forbidden: bot was kicked from the group chat",
    "forum": "Forbidden: bot was kicked from the supergroup chat",
}


class Telegram(Wire):
    """One bot on Telegram: its HTTP API, and the messages of people."""

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
            "editforumtopic": ("edit", bot.edit_forum_topic),
            "sendmessage": ("send", bot.send_message),
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
        return [web.get(path, self._call), web.post(path, self._call)]

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str) -> Message:
        message = self._backend.store.post(chat, thread, self._bot.next_id(chat), person.key, text)
        self._updates.add("message", payloads.message(message, chat, thread, self._backend))
        return message

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:
        self._presses.press(chat, thread, person, message, button)

    async def verify(self) -> Handshake:
        return Handshake(
            ok=self._updates.webhook_url is not None, detail="Telegram checks nothing, it only needs a URL"
        )

    def webhook_changed(self) -> None:
        self._updates.flush()

    async def _call(self, request: web.Request) -> web.Response:
        if request.match_info["token"] != self._backend.secret("bot_token"):
            return _error(401, "Unauthorized")
        if (named := self._methods.get(request.match_info["method"].lower())) is None:
            return _error(404, "Not Found")
        operation, method = named
        try:
            arguments = await arguments_of(request)
        except TelegramError as error:
            return _error(error.code, error.text)

        self._backend.record(request.match_info["method"], arguments.all())

        async def act() -> web.Response:
            try:
                result = method(arguments)
                if isinstance(result, Awaitable):
                    result = await result
            except TelegramError as error:
                return _error(error.code, error.text)
            return web.json_response({"ok": True, "result": result})

        return await self._backend.perform(request, operation, act, self._fault_responses(arguments))

    def _fault_responses(self, arguments: Arguments) -> FaultResponses:
        def forbidden(_: Fault) -> web.Response:
            try:
                return _error(403, _FORBIDDEN[self._bot.chat(arguments).kind])
            except TelegramError as error:
                return _error(error.code, error.text)

        return {
            "rate_limit": _rate_limited,
            "forbidden": forbidden,
            "server_error": lambda _: _error(502, "Bad Gateway"),
        }
