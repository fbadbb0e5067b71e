"""The toy's adapter: JSON over HTTP, and webhooks as PUT transactions with any number of events."""

import contextlib
import hmac
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import httpx

from shared.domain.routes import Place
from shared.errors import (
    Ambiguous,
    ForeignChat,
    NotSent,
    PlaceGone,
    PlatformError,
    RateLimited,
    Rejected,
    ThreadRefused,
)
from shared.platforms import links
from shared.platforms.answers import Shape, fits, retry_after
from shared.platforms.diagnosis import Diagnosis
from shared.platforms.markdown.clean import clean, neutralise
from shared.platforms.markdown.clean import title as as_title
from shared.platforms.markdown.split import split
from shared.ports.inbound import Answer, Event, Inbound, Invited, Parsed, Pressed, WebhookRequest
from shared.ports.platforms import Capabilities, Finding, Part, Platform, ResolvedChat
from shared.ports.secrets import Secrets
from shared.settings import Settings
from tests.contracts.platform.toy import PLAIN_SPEC, SPEC

_TLS = httpx.create_ssl_context()
LIMIT = 1000
SECONDS = 5.0
CHAT = {"id": str, "title": str, "threads": bool, "people": [str], "private": bool}


class Toy(Platform):
    """Sends are idempotent by key, and can be found again."""

    spec = SPEC
    name = SPEC.name
    capabilities = Capabilities(threads=True, limit=LIMIT, key=True, readback=True, buttons=True)

    def __init__(self, settings: Settings, secrets: Secrets) -> None:
        self._secrets = secrets
        self._urls = self.spec.urls(settings.platform_urls)

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:  # noqa: ARG002  # open to all
        made = self._call(
            "POST", f"/chats/{home.chat}/threads", {"title": as_title(title, 60), "key": key}, {"id": str}
        )
        return Place(self.name, home.chat, made["id"])

    def find_thread(self, home: Place, *, key: str) -> Place | None:
        found = self._call("GET", f"/chats/{home.chat}/threads?key={key}", shape={"id": str | None})
        return Place(self.name, home.chat, found["id"]) if found["id"] else None

    def send(self, place: Place, part: Part, *, key: str) -> str:
        body = {"thread": place.thread, "key": key, **self._content(part)}
        return str(self._call("POST", f"/chats/{place.chat}/messages", body, {"id": str})["id"])

    def find_message(self, place: Place, *, key: str) -> str | None:
        path = f"/chats/{place.chat}/messages?key={key}"
        found: str | None = self._call("GET", path, shape={"id": str | None})["id"]
        return found

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        self._call("PATCH", f"/chats/{place.chat}/messages/{message_id}", self._content(part))

    def typing(self, place: Place) -> None:
        with contextlib.suppress(PlatformError):
            self._call("POST", f"/chats/{place.chat}/typing", {"thread": place.thread})

    def acknowledge(self, pressed: Pressed, text: str) -> None:
        if self.capabilities.buttons and text.strip() and pressed.handle.isalnum():
            with contextlib.suppress(PlatformError):
                self._call("POST", f"/presses/{pressed.handle}", {"text": as_title(text, 100)})

    def render(self, markdown: str) -> list[Part]:
        return [Part(text) for text in split(neutralise(clean(markdown)), LIMIT)]

    def link(self, place: Place) -> str:
        return links.below(self._urls.link, place)

    def verify(self, request: WebhookRequest, *, now: int) -> bool:  # noqa: ARG002  # a shared secret has no age
        secret = self._secrets.get(f"{self.name}/webhook_secret")
        given = request.query.get("token") if request.method == "GET" else request.headers.get("authorization")
        wanted = secret if request.method == "GET" else f"Bearer {secret}"
        return bool(secret) and hmac.compare_digest((given or "").encode(), str(wanted).encode())

    def parse(self, request: WebhookRequest) -> Parsed:
        if request.method == "GET":
            return Parsed(answer=Answer(request.query.get("challenge", "")))
        try:
            events = [self._event(event) for event in json.loads(request.body)["events"] if event["from"] != "bot"]
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
            return Parsed(ignored="not a transaction of the toy")
        if not request.rest.startswith("transactions/"):
            return Parsed(ignored="not a transaction of the toy")
        return Parsed(tuple(events), ignored="" if events else "messages of the bot")

    def join(self, place: Place) -> None:
        self._call("POST", f"/chats/{place.chat}/join", {})

    def resolve_chat(self, chat: Place, *, people: Sequence[str]) -> ResolvedChat:
        """Ids of chats are in lower case, however a person writes them."""
        if not self.spec.is_chat_id(chat.chat):
            raise Rejected("Not a chat of the toy")
        found = self._call("GET", f"/chats/{chat.chat}", shape=CHAT)
        if found["private"] and not set(found["people"]) & set(people):
            raise ForeignChat
        return ResolvedChat(Place(self.name, found["id"]), private=found["private"])

    def diagnose(self, home: Place | None, *, webhook_url: str, now: int, seconds: float) -> Sequence[Finding]:  # noqa: ARG002  # nothing here has an age
        found = Diagnosis(self.spec, seconds=seconds)
        try:
            me = self._call("GET", "/me", shape={"name": str, "webhook": str}, seconds=found.left)
        except PlatformError as error:
            found.trouble("bot", error, f"Set the secret {self.name}/bot_token.")
            return found.findings
        found.good("bot", f"{me['name']} answers.")
        found.signing({f"{self.name}/webhook_secret": self._secrets.get(f"{self.name}/webhook_secret")})
        found.address(me["webhook"], webhook_url, certain=True, fix=f"Set the webhook to {webhook_url}.")
        if home is not None:
            self._diagnose_home(found, home)
        return found.findings

    def _diagnose_home(self, found: Diagnosis, home: Place) -> None:
        try:
            chat = self._call("GET", f"/chats/{home.chat}", shape=CHAT, seconds=found.left)
        except PlatformError as error:
            found.trouble("home", error, "Choose another chat.")
            return
        found.good("home", f"The bot is in {chat['title']}.")
        if chat["threads"]:
            found.good("thread", "The bot may open threads.")
        elif self.spec.threads:
            found.bad("thread", "This chat has no threads.", "Choose a room.")

    def _content(self, part: Part) -> dict[str, Any]:
        shown = part.buttons if self.capabilities.buttons else ()
        buttons = [{"id": button.id, "label": as_title(button.label, 75), "style": button.style} for button in shown]
        return {"text": part.text, "buttons": buttons}

    def _event(self, event: Mapping[str, Any]) -> Event:
        place = Place(self.name, str(event["chat"]), event.get("thread"))
        if event["kind"] == "invite":
            return Invited(place, str(event["from"]))
        if event["kind"] == "press":
            event_id, sender, message = f"{int(event['id']):012d}", str(event["from"]), str(event["message"])
            private = event["private"] is True
            return Pressed(event_id, place, sender, event["button"], message, event["ticket"], private)
        return Inbound(f"{int(event['id']):012d}", place, str(event["from"]), str(event["text"]))

    def _call(self, method: str, path: str, body: Any = None, shape: Shape = None, *, seconds: float = SECONDS) -> Any:
        headers = {"Authorization": f"Bearer {self._secrets.get(f'{self.name}/bot_token')}"}
        lost = NotSent if method == "GET" else Ambiguous
        try:
            answer = self._http.request(method, self._urls.api + path, json=body, headers=headers, timeout=seconds)
            said = answer.json()
        except httpx.ConnectError as error:
            raise NotSent("The toy cannot be reached") from error
        except httpx.HTTPError:
            raise lost("The toy did not answer") from None
        except ValueError:
            said = None
        if answer.status_code == 429:
            raise RateLimited(retry_after(answer.headers.get("Retry-After")))
        if answer.is_success and said is not None and fits(said, shape):
            return said
        if answer.is_client_error and fits(said, {"error": str}):
            raise {404: PlaceGone, 409: ThreadRefused}.get(answer.status_code, Rejected)(
                f"The toy refused: {said['error']}"
            )
        raise lost("The toy's answer could not be read")

    @cached_property
    def _http(self) -> httpx.Client:
        return httpx.Client(trust_env=False, verify=_TLS)

    def close(self) -> None:
        self._http.close()


class PlainToy(Toy):
    """The toy without threads and buttons."""

    spec = PLAIN_SPEC
    name = PLAIN_SPEC.name
    capabilities = Capabilities(threads=False, limit=LIMIT, key=True, readback=True)
