"""The simulated daemon: JSON-RPC methods for the bot's account, and what people write to it."""

import asyncio
import base64
import json
import math
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from local.chats.signal.wire.events import Events
from local.chats.simulator.backend import Backend
from local.chats.simulator.faults import Operation
from local.chats.simulator.people import BOT, Person
from local.chats.simulator.protocol import Handshake, Wire
from local.chats.simulator.store import PLAIN, Beside, Chat, Message, NotFound, Thread
from shared.platforms.signal.inbound import chat_of_group, group_of_chat

Params = dict[str, Any]
_FILE = {"width": None, "height": None, "caption": None, "uploadTimestamp": 1_790_000_000_000}
_FILES = ("picture", "file", "voice", "audio", "video")
_DATA_URI = re.compile(r"data:([^;,]+);filename=([^;,]*);base64,([A-Za-z0-9+/=]+)")
_OTHERS: dict[str, Params] = {
    "sticker": {"sticker": {"packId": "9b9e5d84", "stickerId": 3}},
    "contact": {"contacts": [{"name": {"display": "Sam"}, "phone": [{"value": "+15550107"}]}]},
    "poll": {"pollCreate": {"question": "When?", "allowMultiple": False, "options": ["now", "later"]}},
}


class RpcError(Exception):
    """An error of the daemon: -1 of the caller or not delivered, -3 of the network, -4 an untrusted key, -5 a rate limit."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.body = {"code": code, "message": message, "data": data}


class Daemon(Wire):
    """One account. Times of messages are their ids, so each is a millisecond after the last."""

    attachments = (*_FILES, *_OTHERS)

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._events = Events(backend)
        self._last = 0
        self._streams: set[asyncio.Task[Any]] = set()
        self._methods: dict[str, tuple[Operation, Callable[[Params], Any]]] = {
            "send": ("send", self._send),
            "sendTyping": ("typing", self._typing),
            "listAccounts": ("read", lambda _: [{"number": self._backend.secret("account")}]),
            "listGroups": ("read", self._groups),
            "listContacts": ("read", self._contacts),
            "getUserStatus": ("read", self._status),
        }

    def routes(self) -> list[web.RouteDef]:
        base = "/signal/api/v1"
        return [
            web.post(f"{base}/rpc", self._rpc),
            web.get(f"{base}/events", self._stream),
            web.get(f"{base}/check", _check),
        ]

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str, beside: Beside = PLAIN) -> Message:
        sent_at = self._next_time()
        message = self._backend.store.post(chat, thread, str(sent_at), person.key, text, **beside.extra)
        group = group_of_chat(chat.id)
        data: Params = {"timestamp": sent_at, "message": text or None, "expiresInSeconds": 0, "viewOnce": False}
        data |= _attached(beside)
        data |= {"groupInfo": {"groupId": group, "groupName": chat.title, "type": "DELIVER"}} if group else {}
        source = {"source": person.id, "sourceNumber": None, "sourceUuid": person.id, "sourceName": person.name}
        self._events.add({**source, "sourceDevice": 1, "timestamp": sent_at, "dataMessage": data})
        return message

    async def verify(self) -> Handshake:
        return Handshake(ok=self._backend.webhook() is not None, detail="The relay checks nothing, it only needs a URL")

    def webhook_changed(self) -> None:
        self._events.flush()

    async def disconnect(self) -> None:
        for task in tuple(self._streams):
            task.cancel()

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        task = asyncio.ensure_future(self._events.stream(request))
        self._streams.add(task)
        task.add_done_callback(self._streams.discard)
        try:
            return await task
        except asyncio.CancelledError:
            if request.transport is not None:
                request.transport.abort()
            raise

    async def _rpc(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        asked, params = body.get("id"), body.get("params") or {}

        def refused(error: RpcError) -> web.Response:
            return web.json_response({"jsonrpc": "2.0", "error": error.body, "id": asked})

        if body.get("method") not in (*self._methods, "getAttachment"):
            return refused(RpcError(-32601, "Method not implemented"))
        if body["method"] != "listAccounts" and params.get("account") != self._backend.secret("account"):
            return refused(RpcError(-32602, "Specified account does not exist"))
        if body["method"] == "getAttachment":
            number = str(params.get("id", "")).removeprefix("xYz").removesuffix(".bin")
            return await self._backend.download(request, number, "application/json", wrap=_as_result(asked))
        operation, method = self._methods[body["method"]]
        if "editTimestamp" in params:
            operation = "edit"
        self._backend.record(body["method"], {name: value for name, value in params.items() if name != "attachments"})

        async def act() -> web.Response:
            try:
                return web.json_response({"jsonrpc": "2.0", "result": method(params), "id": asked})
            except RpcError as error:
                return refused(error)

        return await self._backend.perform(
            request,
            operation,
            act,
            {
                "rate_limit": lambda fault: refused(_limited(math.ceil(fault.seconds))),
                "forbidden": lambda _: refused(RpcError(-4, "Untrusted Identity")),
                "server_error": lambda _: refused(_offline(operation)),
            },
        )

    def _send(self, params: Params) -> Any:
        chat, text = self._chat(params), params.get("message") or ""
        files = [self._kept(attachment) for attachment in params.get("attachments") or ()]
        if not isinstance(text, str) or not (text or files):
            raise RpcError(-1, "No message or attachment given")
        sent_at = self._next_time()
        if (edited := params.get("editTimestamp")) is not None:
            try:
                thread, message = self._backend.store.find(chat, str(edited))
                self._backend.store.edit(chat, thread, message, text)
            except NotFound:
                pass  # the apps ignore it
        else:
            self._backend.store.post(chat, None, str(sent_at), BOT, text, **({"files": files} if files else {}))
        return {"timestamp": sent_at, "results": [{"recipientAddress": {"uuid": chat.id}, "type": "SUCCESS"}]}

    def _kept(self, attachment: str) -> Params:
        """A file that the bot sends as a data URI."""
        if (found := _DATA_URI.fullmatch(attachment)) is None:
            raise RpcError(-1, "Failed to read attachment")
        return self._backend.store.files.keep(unquote(found[2]), found[1], base64.b64decode(found[3]))

    def _typing(self, params: Params) -> Any:
        self._backend.store.typing(self._chat(params), None, 15)
        return {"timestamp": self._next_time(), "results": []}

    def _groups(self, params: Params) -> Any:
        wanted = params.get("groupId") or []
        groups = [(group, chat) for chat in self._backend.chats() if (group := group_of_chat(chat.id))]
        return [
            {
                "id": group,
                "name": chat.title,
                "isMember": chat.has_bot,
                "members": [{"uuid": self._backend.person(key).id, "number": None} for key in chat.people],
            }
            for group, chat in groups
            if not wanted or group in wanted
        ]

    def _contacts(self, params: Params) -> Any:
        """The bot's own account is the only one with a number here."""
        number, name = self._backend.secret("account"), self._backend.person(BOT).name
        profile = {"givenName": name, "familyName": None}
        return [{"number": number, "profile": profile}] if number in params.get("recipient", ()) else []

    def _status(self, params: Params) -> Any:
        known = {chat.id for chat in self._backend.chats()}
        return [{"recipient": one, "uuid": one, "isRegistered": one in known} for one in params.get("recipient") or []]

    def _chat(self, params: Params) -> Chat:
        try:
            if "groupId" in params:
                return self._backend.chat(chat_of_group(params["groupId"]))
            (recipient,) = params["recipient"]
            return self._backend.chat(recipient)
        except (KeyError, TypeError, ValueError):
            raise RpcError(-1, "No recipients given") from None
        except NotFound:
            raise RpcError(-1, "Unregistered user") from None

    def _next_time(self) -> int:
        self._last = max(int(self._backend.clock() * 1000), self._last + 1)
        return self._last


def _attached(beside: Beside) -> Params:
    """What a message holds for its files and attachments."""
    found: Params = {"attachments": [_file(file) for file in beside.files]} if beside.files else {}
    for kind in beside.attachments:
        found |= _OTHERS.get(kind, {})
    return found


def _file(file: Params) -> Params:
    """A recorded voice message has no name."""
    name = None if file["kind"] == "voice" else file["name"]
    return {**_FILE, "id": f"xYz{file['id']}.bin", "size": file["size"], "contentType": file["type"], "filename": name}


def _as_result(asked: Any) -> Callable[[bytes | None], bytes]:
    """The answer to a request for a file: in base64, inside JSON."""

    def wrapped(data: bytes | None) -> bytes:
        said: Params = {"jsonrpc": "2.0", "id": asked}
        if data is None:
            error = RpcError(-1, "Could not find attachment with ID").body
            return json.dumps({**said, "error": error}).encode()
        return json.dumps({**said, "result": {"data": base64.b64encode(data).decode()}}).encode()

    return wrapped


def _limited(seconds: int) -> RpcError:
    result = {"type": "RATE_LIMIT_FAILURE", "token": "challenge", "retryAfterSeconds": seconds}
    return RpcError(-5, "Failed to send message due to rate limiting", {"response": {"results": [result]}})


def _offline(operation: Operation) -> RpcError:
    """Signal's servers cannot be reached. For a message that is a failure of its recipients, not of the network."""
    if operation == "read":
        return RpcError(-3, "Unable to check if users are registered")
    return RpcError(-1, "Failed to send message", {"response": {"results": [{"type": "NETWORK_FAILURE"}]}})


async def _check(_: web.Request) -> web.Response:
    return web.Response(status=200)
