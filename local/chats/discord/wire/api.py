"""`/api/v10/…`: the table of REST calls, authentication, and the form of answers and errors."""

import math
import re
from typing import Any

from aiohttp import web

from local.chats.discord.wire import payloads
from local.chats.discord.wire.channels import Channels
from local.chats.discord.wire.commands import Commands
from local.chats.discord.wire.errors import DiscordError, unknown
from local.chats.discord.wire.gateway import Gateway
from local.chats.discord.wire.interactions import Interactions
from local.chats.discord.wire.threads import Threads
from local.chats.simulator.backend import Backend
from local.chats.simulator.faults import Fault
from local.chats.simulator.files import SentFile
from local.chats.simulator.json_wire import JSON, JsonWire, Refused, Table
from local.chats.simulator.people import Person
from local.chats.simulator.protocol import Handshake
from local.chats.simulator.store import PLAIN, Beside, Chat, Message, NotFound, Thread

_PATH = "/discord/api/v10"
_WITHOUT_TOKEN = (f"{_PATH}/interactions/", f"{_PATH}/webhooks/")  # their token is in the path
MAX_FILE, MAX_REQUEST = 10 * 2**20, 25 * 2**20
_COMMAND = re.compile(r"/([a-z_-]{1,32})(?:\s+(.*))?", re.DOTALL)


def _rate_limited(fault: Fault) -> Refused:
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
    return Refused(429, body, headers)


class Discord(JsonWire):
    """One application in one server: its REST API, its Gateway, and the messages and commands of people."""

    attachments = payloads.ATTACHED
    forwards = True

    malformed = DiscordError(400, 50109, "The request body contains invalid JSON.")
    faults = {  # noqa: RUF012  # never changed
        "rate_limit": _rate_limited,
        "forbidden": lambda _: DiscordError(403, 50013, "Missing Permissions"),
        "server_error": lambda _: DiscordError(503, 0, "503: Service Unavailable"),
    }

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._gateway = Gateway(backend)
        self._channels = Channels(backend)
        self._commands = Commands(backend)
        self._interactions = Interactions(backend, self._channels, self._gateway, self._commands)
        self._threads = Threads(backend, self._channels)

    def routes(self) -> list[web.RouteDef]:
        table: Table = [*self._account(), *self._calls_in_channels(), *self._calls_for_interactions()]
        gateways = [web.get(path, self._gateway.accept) for path in ("/discord/gateway", "/discord/gateway/")]
        files = web.get("/discord/cdn/attachments/{channel}/{file}/{name}", self._download)
        return [*gateways, *self.served(_PATH, table), files]

    def _account(self) -> Table:
        commands = "/applications/{application}/commands"
        return [
            ("GET", "/users/@me", "read", lambda *_: payloads.me(self._backend)),
            ("GET", "/applications/@me", "read", lambda *_: payloads.application(self._backend)),
            ("GET", "/oauth2/applications/@me", "read", lambda *_: payloads.application(self._backend)),
            ("GET", "/gateway/bot", "read", lambda *_: self._gateway.address()),
            ("PUT", commands, "edit", lambda _, body: self._commands.replace(body["commands"])),
            ("GET", "/guilds/{guild}", "read", self._guild),
            ("GET", "/guilds/{guild}/members/{user}", "read", self._member),
            ("GET", "/guilds/{guild}/threads/active", "read", lambda *_: self._threads.active()),
        ]

    def _calls_in_channels(self) -> Table:
        channels, threads = self._channels, self._threads
        where, message = "/channels/{channel}", "/channels/{channel}/messages/{message}"
        return [
            ("GET", where, "read", lambda to, _: channels.show(**to.match_info)),
            ("PATCH", where, "edit", lambda to, body: channels.change(**to.match_info, body=body)),
            ("GET", f"{where}/messages", "read", lambda to, _: channels.history(**to.match_info, query=to.query)),
            ("POST", f"{where}/messages", "send", lambda to, body: channels.post(**to.match_info, body=body)),
            ("GET", message, "read", lambda to, _: channels.message(**to.match_info)),
            ("PATCH", message, "edit", lambda to, body: channels.edit(**to.match_info, body=body)),
            ("POST", f"{where}/typing", "typing", lambda to, _: channels.typing(**to.match_info)),
            ("POST", f"{where}/threads", "open_thread", lambda to, body: threads.open(**to.match_info, body=body)),
            ("POST", f"{message}/threads", "open_thread", lambda to, body: threads.open_at(**to.match_info, body=body)),
            ("PUT", f"{where}/thread-members/{{user}}", "edit", lambda to, _: threads.join(**to.match_info)),
        ]

    def _calls_for_interactions(self) -> Table:
        answer, follow_up = "/interactions/{id}/{token}/callback", "/webhooks/{application}/{token}"
        interactions = self._interactions
        return [
            ("POST", answer, "send", lambda to, body: interactions.callback(to.match_info["token"], body)),
            ("POST", follow_up, "send", lambda to, body: interactions.follow_up(to.match_info["token"], body)),
        ]

    def authorize(self, request: web.Request) -> None:
        if request.path.startswith(_WITHOUT_TOKEN):
            return
        if request.headers.get("Authorization") != f"Bot {self._backend.secret('bot_token')}":
            raise DiscordError(401, 0, "401: Unauthorized")

    def body_of(self, text: str) -> JSON:
        """A list, which only the commands are, is returned under `commands`."""
        return super().body_of(f'{{"commands": {text}}}' if text.startswith("[") else text)

    def form_of(self, fields: JSON) -> JSON:
        """The JSON of a form, and its files under `files`."""
        files = [fields[name] for name in sorted(fields) if isinstance(fields[name], SentFile)]
        if sum(file.size for file in files) > MAX_REQUEST or any(file.size > MAX_FILE for file in files):
            raise DiscordError(413, 40005, "Request entity too large")
        return {**self.body_of(fields.get("payload_json", "")), "files": files}

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """The address is signed: no token is asked for."""
        if request.query.get("hm") != payloads.SIGNATURE:
            return web.Response(status=404, text="This content is no longer available.")
        return await self._backend.download(request, request.match_info["file"])

    def place(self, chat_id: str, thread_id: str | None) -> tuple[Chat, Thread | None]:
        """A thread is a channel, so its id is also accepted as a chat's."""
        try:
            return self._channels.find(thread_id or chat_id)
        except DiscordError:
            raise NotFound(f"discord has no channel or thread {thread_id or chat_id}") from None

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str, beside: Beside = PLAIN) -> Message:
        """A text that begins with a registered command is an interaction, as in Discord's client."""
        command = _COMMAND.fullmatch(text.strip()) if beside == PLAIN else None
        if command and command[1] in self._commands.options:
            return self._interactions.use(chat, thread, person, command[1], (command[2] or "").strip())
        if chat.kind == "forum" and thread is None:
            raise NotFound(f"discord forum {chat.id} has posts, not messages: name one as the thread")
        return self._backend.store.post(chat, thread, self._channels.next_id(), person.key, text, **beside.extra)

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:
        self._interactions.press(chat, thread, person, message, button)

    async def verify(self) -> Handshake:
        return await self._interactions.verify()

    async def disconnect(self) -> None:
        await self._gateway.disconnect()

    def _guild(self, request: web.Request, _: JSON) -> JSON:
        if request.match_info["guild"] != self._backend.options.guild:
            raise unknown("Guild")
        return payloads.guild(self._backend)

    def _member(self, request: web.Request, _: JSON) -> Any:
        return payloads.member(self._channels.person(request.match_info["user"]))
