"""`/_matrix/client`: authentication, dispatch, and the form of answers and errors."""

from typing import Any

from aiohttp import web

from local.chats.matrix.wire.errors import FORBIDDEN, invalid, not_found, refused
from local.chats.matrix.wire.posting import ATTACHED, FILES, SERVER, Posting
from local.chats.matrix.wire.rooms import Rooms
from local.chats.matrix.wire.transactions import Publishing
from local.chats.simulator.backend import Backend
from local.chats.simulator.faults import Operation
from local.chats.simulator.json_wire import JSON, JsonWire, Refused, Table
from local.chats.simulator.people import Person
from local.chats.simulator.protocol import Handshake
from local.chats.simulator.store import PLAIN, Beside, Chat, Message, NotFound, Thread

_PATH = "/matrix/_matrix/client"
LARGEST = 50 * 2**20


class Homeserver(JsonWire):
    """One homeserver with one bot."""

    attachments = (*FILES, *ATTACHED)

    malformed = refused(400, "M_NOT_JSON", "Content not JSON.")
    faults = {  # noqa: RUF012  # never changed
        "rate_limit": lambda fault: refused(
            429, "M_LIMIT_EXCEEDED", "Too Many Requests", retry_after_ms=int(fault.seconds * 1000)
        ),
        "forbidden": lambda _: refused(403, "M_FORBIDDEN", FORBIDDEN),
        "server_error": lambda _: refused(500, "M_UNKNOWN", "Internal server error"),
    }

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._publishing = Publishing(backend)
        self._rooms = Rooms(backend)
        self._posting = Posting(backend, self._rooms, self._publishing.publish)
        self._account_data: JSON = {}
        self._set_pushers: dict[str, str] = {}

    def routes(self) -> list[web.RouteDef]:
        room = "/v3/rooms/{room}"
        table: Table = [
            ("GET", "/v3/account/whoami", "read", lambda *_: {"user_id": self._rooms.bot, "is_guest": False}),
            ("GET", "/v3/pushers", "read", self._pushers),
            ("POST", "/v3/pushers/set", "edit", self._set_pusher),
            ("PUT", f"{room}/send/m.room.message/{{transaction}}", "send", self._send),
            (
                "GET",
                f"{room}/event/{{event}}",
                "read",
                lambda to, _: self._rooms.event(_room(to), to.match_info["event"]),
            ),
            ("GET", f"{room}/joined_members", "read", lambda to, _: self._rooms.members(_room(to))),
            (
                "GET",
                f"{room}/state/{{kind}}/",
                "read",
                lambda to, _: self._rooms.state(_room(to), to.match_info["kind"]),
            ),
            ("GET", f"{room}/messages", "read", lambda to, _: self._rooms.messages(_room(to), *_page(to))),
            ("GET", "/v1/rooms/{room}/relations/{root}/m.thread", "read", self._thread),
            ("POST", f"{room}/join", "read", self._join),
            ("POST", f"{room}/leave", "edit", self._leave),
            ("PUT", f"{room}/typing/{{user}}", "typing", self._typing),
            ("GET", "/v3/user/{user}/account_data/{kind}", "read", self._stored),
            ("PUT", "/v3/user/{user}/account_data/{kind}", "read", self._store),
        ]
        return [
            *self.served(_PATH, table),
            web.get(f"{_PATH}/v3/sync", self._sync),
            web.post("/matrix/_matrix/media/v3/upload", self._upload),
            web.get(f"{_PATH}/v1/media/download/{{server}}/{{file}}", self._download),
        ]

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str, beside: Beside = PLAIN) -> Message:
        """Each file or attachment is a message of its own, of which the first has the caption."""
        first, *_ = [
            self._posting.say(chat, thread, person.key, "" if number else text, one)
            for number, one in enumerate(beside.one_by_one())
        ]
        return first

    def remove_thread(self, chat: Chat, thread_id: str) -> None:
        """The event of the message that started the thread stays, without content."""
        self._rooms.redact(chat, self._backend.store.find(chat, thread_id)[1])
        super().remove_thread(chat, thread_id)

    async def verify(self) -> Handshake:
        return await self._publishing.ping()

    async def disconnect(self) -> None:
        self._publishing.wake()

    def authorize(self, request: web.Request) -> None:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not token:
            raise refused(401, "M_MISSING_TOKEN", "Missing access token")
        if token != self._backend.secret("bot_token"):
            raise refused(401, "M_UNKNOWN_TOKEN", "Invalid access token passed.")

    def operation(self, listed: Operation, body: JSON) -> Operation:
        return "edit" if (body.get("m.relates_to") or {}).get("rel_type") == "m.replace" else listed

    async def _sync(self, request: web.Request) -> web.Response:
        try:
            self.authorize(request)
            return web.json_response(await self._publishing.sync(request))
        except Refused as error:
            return error.answer()

    async def _upload(self, request: web.Request) -> web.Response:
        """The body is the file."""
        try:
            self.authorize(request)
        except Refused as error:
            return error.answer()
        data, name = await request.read(), request.query.get("filename", "")

        def act() -> JSON:
            if len(data) > LARGEST:
                raise refused(413, "M_TOO_LARGE", "Upload request body is too large")
            kept = self._backend.store.files.keep(name, request.content_type, data)
            self._posting.uploads[kept["id"]] = kept
            return {"content_uri": f"mxc://{SERVER}/{kept['id']}"}

        return await self.respond(request, "POST upload", "upload", {"filename": name}, act)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        try:
            self.authorize(request)
        except Refused as error:
            return error.answer()
        return await self._backend.download(request, request.match_info["file"])

    def _send(self, request: web.Request, body: JSON) -> JSON:
        return self._posting.send(_room(request), request.match_info["transaction"], body)

    def _thread(self, request: web.Request, _: JSON) -> JSON:
        return self._rooms.thread(_room(request), request.match_info["root"], *_page(request))

    def _pushers(self, *_: Any) -> JSON:
        urls = (*self._backend.options.pushers, *self._set_pushers.values())
        return {"pushers": [{"kind": "http", "data": {"url": url}} for url in urls]}

    def _set_pusher(self, _: web.Request, body: JSON) -> JSON:
        """One per key. It is only listed: what is pushed, tests write themselves."""
        self._set_pushers.pop(str(body["pushkey"]), None)
        if body["kind"] is not None:
            self._set_pushers[str(body["pushkey"])] = str(body["data"]["url"])
        return {}

    def _join(self, request: web.Request, _: JSON) -> JSON:
        room = _room(request)
        try:
            chat = self._backend.chat(room)
        except NotFound:
            text = "Can't join remote room because no servers that are in the room have been provided."
            raise refused(404, "M_UNKNOWN", text) from None
        if not chat.has_bot:
            raise refused(403, "M_FORBIDDEN", "You are not invited to this room.")
        return {"room_id": room}

    def _leave(self, request: web.Request, _: JSON) -> JSON:
        self._rooms.joined(_room(request))
        return {}

    def _typing(self, request: web.Request, body: JSON) -> JSON:
        chat = self._rooms.joined(_room(request))
        self._backend.store.typing(chat, None, int(body["timeout"]) / 1000 if body.get("typing") else 0)
        return {}

    def _stored(self, request: web.Request, _: JSON) -> JSON:
        if (kind := request.match_info["kind"]) not in self._account_data:
            raise not_found("Account data not found")
        found: JSON = self._account_data[kind]
        return found

    def _store(self, request: web.Request, body: JSON) -> JSON:
        self._account_data[request.match_info["kind"]] = body
        return {}


def _room(request: web.Request) -> str:
    return request.match_info["room"]


def _page(request: web.Request) -> tuple[str, int]:
    limit = request.query.get("limit", "10")
    if not limit.isdigit():
        raise invalid("Query parameter 'limit' must be an integer", "M_INVALID_PARAM")
    return request.query.get("from", ""), int(limit)
