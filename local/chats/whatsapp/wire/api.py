"""The bot's calls, and what people write: one phone number of a business on the simulated WhatsApp."""

import base64
import itertools
from typing import Any

from aiohttp import web

from local.chats.simulator.backend import Backend
from local.chats.simulator.files import SentFile
from local.chats.simulator.json_wire import JSON, JsonWire, Refused, Table
from local.chats.simulator.people import BOT, Person
from local.chats.simulator.protocol import Handshake, ask_by_query
from local.chats.simulator.store import PLAIN, Beside, Chat, Message, NotFound, Thread
from local.chats.whatsapp.wire.attachments import KINDS, content_beside
from local.chats.whatsapp.wire.content import content_of
from local.chats.whatsapp.wire.errors import BROKEN, RIGHTS, TOKEN, UNDELIVERABLE, busy, invalid, missing, no_number
from local.chats.whatsapp.wire.events import DISPLAYED, Events
from local.chats.whatsapp.wire.limits import Limits

CHALLENGE = "1158201444"
MAX_PICTURE, MAX_FILE = 5 * 2**20, 100 * 2**20
_OFFICE = "application/vnd.openxmlformats-officedocument"
UPLOADS = (
    *("audio/aac", "audio/mp4", "audio/mpeg", "audio/amr", "audio/ogg", "image/jpeg", "image/png", "video/mp4"),
    *("application/pdf", "text/plain", "application/msword", "application/vnd.ms-excel"),
    *("application/vnd.ms-powerpoint", f"{_OFFICE}.wordprocessingml.document", f"{_OFFICE}.spreadsheetml.sheet"),
    f"{_OFFICE}.presentationml.presentation",
)


class WhatsApp(JsonWire):
    """Messages to the bot and back. Each message that it accepts is reported to the webhook as sent and delivered."""

    attachments = KINDS
    forwards = True

    malformed = missing("messaging_product")
    faults = {  # noqa: RUF012  # never changed
        "rate_limit": lambda fault: busy(fault.seconds),
        "forbidden": lambda _: RIGHTS,
        "server_error": lambda _: BROKEN,
    }

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend)
        self._events = Events(backend)
        self._limits = Limits(backend.options, backend.clock)
        self._ids = itertools.count(int(backend.clock() * 1_000_000))  # later runs have other ids
        self._second = 0
        self._uploads: dict[str, JSON] = {}
        self._presses: dict[str, tuple[Message, Person]] = {}

    def routes(self) -> list[web.RouteDef]:
        table: Table = [
            ("POST", "/messages", "send", self._send),
            ("POST", "/media", "upload", self._upload),
            ("GET", "", "read", self._show),
        ]
        files = web.get("/whatsapp/media/{file}", self._download)
        return [*self.served("/whatsapp/v23.0/{number}", table), files]

    def authorize(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {self._backend.secret('access_token')}":
            raise TOKEN
        number, known = request.match_info.get("number"), self._backend.store.files
        if number and number != self._backend.secret("phone_number_id") and known.content(number) is None:
            raise no_number(number)

    def say(self, chat: Chat, thread: Thread | None, person: Person, text: str, beside: Beside = PLAIN) -> Message:
        """Each attachment is a message of its own, of which the first has the caption."""
        context = {"context": {"forwarded": True}} if beside.forwarded else {}
        posted = []
        for number, one in enumerate(beside.one_by_one()):
            shown = "" if number else text
            has_more = one.files or one.attachments
            content = content_beside(one, shown) if has_more else {"type": "text", "text": {"body": text}}
            message = self._backend.store.post(chat, thread, self._next_id(chat.id), person.key, shown, **one.extra)
            self._from_person(chat, person, message.id, {**context, **content})
            posted.append(message)
        return posted[0]

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:  # noqa: ARG002  # there are no threads
        (label,) = [shown["label"] for shown in message.buttons if shown["id"] == button]
        kind = "button_reply" if message.extra["kind"] == "button" else "list_reply"
        wamid = self._next_id(chat.id)
        self._presses[wamid] = (message, person)
        chosen = {"type": kind, kind: {"id": button, "title": label}}
        context = {"from": self._backend.person(BOT).id, "id": message.id}
        self._from_person(chat, person, wamid, {"type": "interactive", "context": context, "interactive": chosen})

    async def verify(self) -> Handshake:
        right = await self._asked(self._backend.secret("verify_token"))
        wrong = await self._asked("another token")
        detail = f"The challenge was answered with {right}, one with a wrong token with {wrong}"
        return Handshake(ok=right == (200, CHALLENGE) and (wrong[0] or 0) >= 400, detail=detail)

    async def _asked(self, token: str) -> tuple[int | None, str]:
        query = {"hub.mode": "subscribe", "hub.verify_token": token, "hub.challenge": CHALLENGE}
        return await ask_by_query(self._backend.webhook() or "", query)

    def _upload(self, _: web.Request, form: JSON) -> JSON:
        """The file of a message that follows. It is kept for as long as the simulator runs."""
        file = form.get("file")
        if form.get("messaging_product") != "whatsapp" or not isinstance(file, SentFile) or not file.size:
            raise missing("file")
        if form.get("type") not in UPLOADS or file.size > (
            MAX_PICTURE if form["type"].startswith("image/") else MAX_FILE
        ):
            raise invalid(f"Param file must be a file with one of the following types: {', '.join(UPLOADS)}.")
        kept = self._backend.store.files.keep(file.name, form["type"], file.data)
        self._uploads[kept["id"]] = kept
        return {"id": kept["id"]}

    async def _download(self, request: web.Request) -> web.StreamResponse:
        try:
            self.authorize(request)
        except Refused as error:
            return error.answer()
        return await self._backend.download(request, request.match_info["file"])

    def _show_media(self, file_id: str) -> JSON:
        data = self._backend.store.files.content(file_id) or b""
        url = f"{self._backend.base_url()}/whatsapp/media/{file_id}"
        return {"messaging_product": "whatsapp", "url": url, "file_size": len(data), "id": file_id}

    def _show(self, request: web.Request, _: JSON) -> JSON:
        if (asked := request.match_info["number"]) != self._backend.secret("phone_number_id"):
            return self._show_media(asked)
        webhook = self._backend.webhook()
        configured = {"webhook_configuration": {"application": webhook}} if webhook else {}
        return {
            "display_phone_number": DISPLAYED,
            "verified_name": "Handoff",
            **configured,
            "id": self._backend.secret("phone_number_id"),
        }

    def _send(self, _: web.Request, body: JSON) -> JSON:
        text, buttons = content_of(body)
        files = self._uploaded(body)
        try:
            chat = self._backend.chat(body["to"])
        except NotFound:
            raise UNDELIVERABLE from None
        self._limits.sending(chat.id)
        wamid, kind = self._next_id(chat.id), (body.get("interactive") or {}).get("type")
        more = {"kind": kind, **({"files": files} if files else {})}
        self._backend.store.post(chat, None, wamid, BOT, text, buttons=buttons, **more)
        pressed = self._presses.get((body.get("context") or {}).get("message_id", ""))
        if pressed is not None:
            self._backend.store.acknowledge(chat, None, pressed[0], pressed[1].key, text)
        for status in ("sent", "delivered"):
            self._events.reported(chat.id, wamid, status, self._now(), body.get("biz_opaque_callback_data"))
        contact = {"input": body["to"], "wa_id": chat.id}
        return {"messaging_product": "whatsapp", "contacts": [contact], "messages": [{"id": wamid}]}

    def _uploaded(self, body: JSON) -> list[JSON]:
        """The file that a message shows."""
        if (kind := body.get("type")) not in ("image", "document"):
            return []
        shown = body[kind]
        if (kept := self._uploads.get(str(shown.get("id")))) is None:
            raise invalid("Media ID is not known")
        return [{**kept, "name": shown.get("filename") or kept["name"]}]

    def _from_person(self, chat: Chat, person: Person, wamid: str, content: dict[str, Any]) -> None:
        self._limits.heard(chat.id)
        # Times are whole seconds. A simulated person never writes twice in one: the order would be unknown.
        self._second = max(self._now(), self._second + 1)
        self._events.said(chat.id, person.name, {"id": wamid, "timestamp": str(self._second), **content})

    def _now(self) -> int:
        return int(self._backend.clock())

    def _next_id(self, chat_id: str) -> str:
        content = f"{chat_id}/{next(self._ids):016d}".encode()
        return f"wamid.{base64.b64encode(content).decode()}"
