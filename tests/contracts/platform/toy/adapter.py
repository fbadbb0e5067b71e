"""The toy's adapter: JSON over HTTP, webhooks that name messages, and buttons that carry a callback URL."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shared.domain.attachments import KINDS, OTHER, counted
from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import ForeignChat, PlatformError, Rejected
from shared.platforms.base import BasePlatform
from shared.platforms.markdown.clean import clean, neutralise
from shared.platforms.markdown.clean import title as as_title
from shared.platforms.markdown.split import split
from shared.platforms.spec import link_below
from shared.platforms.uploads import caption_of
from shared.platforms.webhooks import UNREADABLE, is_equal, with_slash
from shared.ports.inbound import Announced, Answer, Event, Inbound, Invited, Parsed, Pressed, WebhookRequest
from shared.ports.platforms import Capabilities, Part, ResolvedChat
from shared.ports.secrets import Secrets
from shared.settings import Settings
from tests.contracts.platform.toy import PLAIN_SPEC, SPEC
from tests.contracts.platform.toy.diagnosis import CHAT, PlainToyDiagnosis, ToyDiagnosis

if TYPE_CHECKING:
    from tests.contracts.platform.toy.api import Api

LIMIT = 1000
BOT = "bot"
MESSAGE = {
    "id": str,
    "chat": str,
    "thread": str | None,
    "from": str,
    "text": str,
    "private": bool,
    "attachments": [str],
    "files": [{"id": str, "kind": str, "name": str, "type": str, "size": int}],
    "forwarded": bool,
}
FOUND = [{"id": str, "from": str}]
"""Those with a key. Other people can copy a key into what they post."""


class Toy(BasePlatform["Api"]):
    """Sends are idempotent by key, and can be found again. Without an address of the service there are no buttons."""

    spec, name, diagnosis = SPEC, SPEC.name, ToyDiagnosis

    def __init__(self, settings: Settings, secrets: Secrets) -> None:
        super().__init__(settings, secrets)
        buttons = bool(self.webhook_url) and self.spec.threads
        self.capabilities = Capabilities(
            threads=self.spec.threads,
            limit=LIMIT,
            key=True,
            readback=True,
            buttons=buttons,
            file_limit=1_000_000,
            picture_limit=1_000_000,
            caption_limit=200,
        )

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:
        """Only people who are named see a new thread at once."""
        body = {"title": as_title(title, 60), "key": key, "people": list(people)}
        made = self._api.change("POST", f"/chats/{home.chat}/threads", body, {"id": str})
        return Place(self.name, home.chat, made["id"])

    def find_thread(self, home: Place, *, key: str) -> Place | None:
        found = self._ours(f"/chats/{home.chat}/threads", key)
        return Place(self.name, home.chat, found) if found else None

    def send(self, place: Place, part: Part, *, key: str) -> str:
        body = {"thread": place.thread, "key": key, **self._content(part)}
        return str(self._api.change("POST", f"/chats/{place.chat}/messages", body, {"id": str})["id"])

    def send_file(self, place: Place, file: OutFile, caption: Part | None, *, key: str) -> str:
        fields = {"text": caption_of(caption, self.capabilities), "key": key, "thread": place.thread or ""}
        return self._api.post_file(place.chat, fields, file)

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:  # noqa: ARG002  # ids are of the bot
        return self._api.fetch_file(file, limit=limit)

    def find_message(self, place: Place, *, key: str) -> str | None:
        return self._ours(f"/chats/{place.chat}/messages", key)

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        self._api.change("PATCH", f"/chats/{place.chat}/messages/{message_id}", self._content(part))

    def typing(self, place: Place) -> None:
        with contextlib.suppress(PlatformError):
            self._api.change("POST", f"/chats/{place.chat}/typing", {"thread": place.thread})

    def acknowledge(self, pressed: Pressed, text: str) -> Answer | None:  # noqa: ARG002  # the response goes to the person
        return Answer({"shown": as_title(text, 100)} if text.strip() else {})

    def render(self, markdown: str) -> list[Part]:
        return [Part(text) for text in split(neutralise(clean(markdown)), LIMIT)]

    def link(self, place: Place) -> str:
        return link_below(self._urls.link, place)

    def verify(self, request: WebhookRequest, *, now: int) -> bool:  # noqa: ARG002  # a shared secret has no age
        """Nothing in the headers is signed: the secret stands in the body, or in the query of a check of the URL."""
        try:
            given = request.query.get("token") if request.method == "GET" else json.loads(request.body)["token"]
        except UNREADABLE:
            return False
        return is_equal(given, self._secrets.get(f"{self.name}/webhook_secret"))

    def parse(self, request: WebhookRequest) -> Parsed:
        if request.method == "GET":
            return Parsed(answer=Answer(request.query.get("challenge", "")))
        try:
            events = [self._event(event) for event in json.loads(request.body)["events"] if event["from"] != BOT]
        except UNREADABLE:
            return Parsed(ignored="not a transaction of the toy")
        if request.rest != "presses" and not request.rest.startswith("transactions/"):
            return Parsed(ignored="not a transaction of the toy")
        return Parsed(tuple(events), ignored="" if events else "messages of the bot")

    def fetch(self, announced: Announced) -> Event | None:
        message = self._api.get(f"/chats/{announced.place.chat}/messages/{announced.message}", MESSAGE)
        try:
            return self._message(message)
        except UNREADABLE:
            return None

    def join(self, place: Place) -> None:
        self._api.change("POST", f"/chats/{place.chat}/join", {})

    def resolve_chat(self, chat: Place, *, people: Sequence[str]) -> ResolvedChat:
        """Ids of chats are in lower case, however a person writes them."""
        if not self.spec.is_chat_id(chat.chat):
            raise Rejected("Not a chat of the toy")
        found = self._api.get(f"/chats/{chat.chat}", CHAT)
        if found["private"] and not set(found["people"]) & set(people):
            raise ForeignChat
        return ResolvedChat(Place(self.name, found["id"]), private=found["private"])

    def new_api(self) -> "Api":
        from tests.contracts.platform.toy.api import Api  # noqa: PLC0415  # webhooks are parsed without httpx

        return Api(self._urls.api, lambda: self._secret("bot_token"))

    def _ours(self, path: str, key: str) -> str | None:
        return next((str(one["id"]) for one in self._api.get(path, FOUND, key=key) if one["from"] == BOT), None)

    def _content(self, part: Part) -> dict[str, Any]:
        """Presses come to the URL that a button carries."""
        shown = part.buttons if self.capabilities.buttons else ()
        url = f"{self.webhook_url}/presses"
        buttons = [
            {"id": button.id, "label": as_title(button.label, 75), "style": button.style, "url": url}
            for button in shown
        ]
        return {"text": part.text, "buttons": buttons}

    def _event(self, event: Mapping[str, Any]) -> Event:
        place, sender = self._place(event), str(event["from"])
        if event["kind"] == "invite":
            return Invited(place, sender)
        if event["kind"] == "press":
            event_id, message = _sortable(event), str(event["message"])
            return Pressed(event_id, place, sender, event["button"], message, handle=event_id, private=_private(event))
        if event["kind"] == "named":
            return Announced(place, str(int(event["id"])), sender)
        return self._message(event)

    def _message(self, event: Mapping[str, Any]) -> Inbound:
        text, forwarded = str(event["text"]), event.get("forwarded") is True
        return Inbound(
            _sortable(event),
            self._place(event),
            str(event["from"]),
            "" if forwarded else with_slash(text),
            private=_private(event),
            forwarded=text if forwarded else "",
            attachments=counted(kind if kind in KINDS else OTHER for kind in event.get("attachments") or ()),
            files=tuple(_file(file) for file in event.get("files") or ()),
        )

    def _place(self, event: Mapping[str, Any]) -> Place:
        return Place(self.name, str(event["chat"]), event.get("thread"))


class PlainToy(Toy):
    """The toy without threads and buttons."""

    spec, name, diagnosis = PLAIN_SPEC, PLAIN_SPEC.name, PlainToyDiagnosis


def _file(file: Mapping[str, Any]) -> ChatFile:
    return ChatFile(file["kind"], str(int(file["id"])), file["name"], file["type"], file["size"])


def _sortable(event: Mapping[str, Any]) -> str:
    return f"{int(event['id']):012d}"


def _private(event: Mapping[str, Any]) -> bool:
    return event.get("private") is True
