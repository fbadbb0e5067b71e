"""`/api/<method>`: authentication, dispatch, and the form of answers and errors."""

import math
from collections.abc import Callable
from typing import Any

from aiohttp import web

from local.chats.simulator.backend import Backend
from local.chats.simulator.faults import Operation
from local.chats.simulator.json_wire import HttpWire
from local.chats.simulator.people import BOT, Person
from local.chats.simulator.protocol import Handshake
from local.chats.simulator.store import PLAIN, Beside, Chat, Message, Thread
from local.chats.slack.wire import payloads
from local.chats.slack.wire.arguments import Arguments, SlackError, arguments_of
from local.chats.slack.wire.conversations import Conversations
from local.chats.slack.wire.events import Events
from local.chats.slack.wire.files import Files
from local.chats.slack.wire.posting import Posting
from local.chats.slack.wire.presses import Presses
from local.chats.slack.wire.sockets import Sockets

Call = Callable[[Arguments], dict[str, Any]]


class Slack(HttpWire):
    """One app in one workspace: its Web API, its events, and the messages of people."""

    attachments = payloads.ATTACHED
    forwards = True

    faults = {  # noqa: RUF012  # never changed
        "rate_limit": lambda fault: SlackError("ratelimited", 429, {"Retry-After": str(math.ceil(fault.seconds))}),
        "forbidden": lambda _: SlackError("restricted_action"),
        "server_error": lambda _: SlackError("service_unavailable", 503),
    }

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._sockets = Sockets(backend)
        self._conversations = conversations = Conversations(backend)
        self._events = Events(backend, self._sockets)
        self._posting = posting = Posting(backend, conversations, self._events)
        self._files = Files(backend, conversations, posting)
        self._presses = Presses(backend, self._events, self._sockets, posting.next_ts)
        self._methods: dict[str, tuple[Operation, Call]] = {
            "auth.test": ("read", self._auth_test),
            "chat.postMessage": ("send", posting.post),
            "chat.update": ("edit", posting.update),
            "chat.delete": ("edit", posting.delete),
            "files.getUploadURLExternal": ("upload", self._files.announce),
            "files.completeUploadExternal": ("send", self._files.complete),
            "files.info": ("read", self._files.info),
            "conversations.history": ("read", conversations.history),
            "conversations.replies": ("read", conversations.replies),
            "conversations.info": ("read", conversations.info),
            "conversations.members": ("read", conversations.members),
            "conversations.open": ("read", conversations.open),
            "assistant.threads.setStatus": ("typing", posting.set_status),
            "apps.connections.open": ("read", lambda _: {"url": self._sockets.ticket()}),
        }

    def routes(self) -> list[web.RouteDef]:
        path = "/slack/api/{method}"
        return [
            web.get(path, self._call),
            web.post(path, self._call),
            web.post("/slack/actions/{team}/{ticket}", self._presses.respond),
            web.get("/slack/link", self._sockets.accept),
            web.post("/slack/upload/{file}", self._files.upload),
            web.get("/slack/files/{file}/download", self._files.download),
        ]

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str, beside: Beside = PLAIN) -> Message:
        return self._posting.say(chat, thread, person.key, text, **beside.extra)

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:
        self._presses.press(chat, thread, person, message, button)

    async def verify(self) -> Handshake:
        return await self._events.verify()

    async def disconnect(self) -> None:
        await self._sockets.disconnect()

    def _auth_test(self, _: Arguments) -> dict[str, Any]:
        options, bot = self._backend.options, self._backend.person(BOT)
        return {
            "url": "https://handoff.slack.com/",
            "team": "Handoff",
            "user": bot.handle,
            "team_id": options.team,
            "user_id": bot.id,
            "bot_id": options.bot,
            "is_enterprise_install": False,
        }

    async def _call(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        try:
            arguments = await arguments_of(request)
            self._authorize(request, arguments, method)
        except SlackError as error:
            return error.answer()
        if method not in self._methods:
            return SlackError("unknown_method").answer()
        operation, call = self._methods[method]
        answer = await self.respond(
            request, method, operation, arguments.all(), lambda: {"ok": True, **call(arguments)}
        )
        answer.headers["x-oauth-scopes"] = ",".join(self._backend.options.scopes)
        return answer

    def _authorize(self, request: web.Request, arguments: Arguments, method: str) -> None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ") or arguments.text("token")
        app_token, bot_token = self._backend.secret("app_token"), self._backend.secret("bot_token")
        wanted = app_token if method == "apps.connections.open" else bot_token
        if not token:
            raise SlackError("not_authed")
        if token not in {app_token, bot_token}:
            raise SlackError("invalid_auth")
        if token != wanted:
            raise SlackError("not_allowed_token_type")
