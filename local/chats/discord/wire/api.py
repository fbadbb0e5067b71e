"""`/api/v10/…`: dispatch, authentication, and the form of answers and errors."""

import json
import math
import re
from typing import Any

from aiohttp import web

from local.chats.discord.wire import connections, errors
from local.chats.discord.wire.calls import Call, Input, calls
from local.chats.discord.wire.channels import Channels
from local.chats.discord.wire.commands import Commands
from local.chats.discord.wire.errors import DiscordError
from local.chats.discord.wire.gateway import Gateway
from local.chats.discord.wire.interactions import Interactions
from local.chats.discord.wire.threads import Threads
from local.chats.simulator.backend import Backend, FaultResponses
from local.chats.simulator.faults import Fault
from local.chats.simulator.people import Person
from local.chats.simulator.protocol import Handshake, Wire
from local.chats.simulator.store import Chat, Message, NotFound, Thread

_COMMAND = re.compile(r"/([a-z_-]{1,32})(?:\s+(.*))?", re.DOTALL)


def _answer(body: Any, status: int = 200, **headers: str) -> web.Response:
    """The content type has no charset: the SDK compares it with `application/json`."""
    if body is None:
        return web.Response(status=204)
    raw = json.dumps(body, ensure_ascii=False).encode()
    return web.Response(body=raw, status=status, headers={"Content-Type": "application/json", **headers})


def _rate_limited(fault: Fault) -> web.Response:
    headers = {
        "Via": "1.1 google",  # without it the SDK treats the answer as a Cloudflare ban
        "Retry-After": str(math.ceil(fault.seconds)),
        "X-RateLimit-Limit": "5",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset-After": f"{fault.seconds:.3f}",
        "X-RateLimit-Bucket": "80c17d2f203122d936070c88c8d10f33",
        "X-RateLimit-Scope": "user",
    }
    body = {"message": "You are being rate limited.", "retry_after": fault.seconds, "global": False}
    return _answer(body, 429, **headers)


_FAULT_RESPONSES: FaultResponses = {
    "rate_limit": _rate_limited,
    "forbidden": lambda _: _answer({"message": "Missing Permissions", "code": 50013}, 403),
    "server_error": lambda _: web.Response(
        status=503, text="upstream connect error or disconnect/reset before headers"
    ),
}


class Discord(Wire):
    """One application in one server: its REST API, its Gateway, and the messages and commands of people."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._gateway = Gateway(backend)
        self._channels = Channels(backend)
        self._commands = Commands(backend)
        self._interactions = Interactions(backend, self._channels, self._gateway, self._commands)
        threads = Threads(backend, self._channels)
        self._calls = calls(backend, self._channels, threads, self._interactions, self._commands)

    def routes(self) -> list[web.RouteDef]:
        async def gateway(request: web.Request) -> web.StreamResponse:
            return await connections.accept(request, self._backend, self._gateway)

        return [
            web.get("/discord/gateway", gateway),
            web.get("/discord/gateway/", gateway),
            web.route("*", "/discord/api/v10{path:/.+}", self._call),
        ]

    def place(self, chat_id: str, thread_id: str | None) -> tuple[Chat, Thread | None]:
        """A thread is a channel, so its id is also accepted as a chat's."""
        try:
            return self._channels.find(thread_id or chat_id)
        except DiscordError:
            raise NotFound(f"discord has no channel or thread {thread_id or chat_id}") from None

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str) -> Message:
        """A text that begins with a registered command is an interaction, as in Discord's client."""
        command = _COMMAND.fullmatch(text.strip())
        if command and command[1] in self._commands.options:
            return self._interactions.use(chat, thread, person, command[1], (command[2] or "").strip())
        if chat.kind == "forum" and thread is None:
            raise NotFound(f"discord forum {chat.id} has posts, not messages: name one as the thread")
        return self._backend.store.post(chat, thread, self._channels.next_id(), person.key, text)

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:
        self._interactions.press(chat, thread, person, message, button)

    async def verify(self) -> Handshake:
        return await self._interactions.verify()

    async def disconnect(self) -> None:
        await self._gateway.disconnect()

    async def _call(self, request: web.Request) -> web.Response:
        path = request.match_info["path"]
        found = ((call, call.match(request.method, path)) for call in self._calls)
        call, ids = next(((call, ids) for call, ids in found if ids is not None), (None, {}))
        try:
            if call is None:
                raise errors.not_found()
            self._authorize(call, request)
            given = Input(ids, await _body(request), dict(request.query))
        except DiscordError as error:
            return _answer(error.body, error.status)

        self._backend.record(f"{call.method} {call.path}", given.body)

        async def act() -> web.Response:
            try:
                return _answer(call.act(given), call.status)
            except DiscordError as error:
                return _answer(error.body, error.status)

        return await self._backend.perform(request, call.operation, act, _FAULT_RESPONSES)

    def _authorize(self, call: Call, request: web.Request) -> None:
        wanted = f"Bot {self._backend.secret('bot_token')}"
        if call.with_token and request.headers.get("Authorization") != wanted:
            raise DiscordError(401, 0, "401: Unauthorized")


async def _body(request: web.Request) -> dict[str, Any]:
    """The JSON body, also from `payload_json` of a multipart form. A list is returned under `commands`."""
    if not request.can_read_body:
        return {}
    if request.content_type == "multipart/form-data":
        text = str((await request.post()).get("payload_json", "{}"))
    else:
        text = await request.text()
    try:
        body = json.loads(text or "{}")
    except ValueError:
        raise DiscordError(400, 50109, "The request body contains invalid JSON.") from None
    return body if isinstance(body, dict) else {"commands": body}
