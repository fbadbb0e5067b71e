"""Matrix: a thread belongs to a message of the bot, in rooms without encryption."""

import contextlib
import hashlib
import html
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import ForeignChat, PlaceGone, PlatformError, Rejected
from shared.platforms.base import BasePlatform
from shared.platforms.markdown.clean import title as as_title
from shared.platforms.matrix import SPEC, inbound, render
from shared.platforms.matrix.diagnosis import ENCRYPTED, MatrixDiagnosis
from shared.platforms.spec import link_below
from shared.platforms.uploads import caption_of
from shared.ports.inbound import Announced, Event, Parsed, WebhookRequest
from shared.ports.platforms import Capabilities, Pairing, Part, ResolvedChat
from shared.ports.secrets import Secrets
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.platforms.matrix.api import Api

_TITLE_LIMIT = 150


class Matrix(BasePlatform["Api"]):
    """One bot on one homeserver. Its messages hold their keys: a restarted server knows no transactions any more."""

    spec, name, diagnosis = SPEC, SPEC.name, MatrixDiagnosis
    capabilities = Capabilities(
        threads=True,
        limit=render.LIMIT,
        length=render.length,
        key=True,
        readback=True,
        tells_private=False,
        file_limit=50_000_000,
        picture_limit=50_000_000,
        caption_limit=render.LIMIT,
    )

    def __init__(self, settings: Settings, secrets: Secrets) -> None:
        super().__init__(settings, secrets)
        self._own_id: str | None = None

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:  # noqa: ARG002  # all see it
        shown = render.safe(as_title(title, _TITLE_LIMIT))
        tag = _tag("thread", key)
        made = render.content(shown, html=f"<strong>{html.escape(shown, quote=False)}</strong>", key=tag)
        return Place(self.name, home.chat, self._api.send(home.chat, tag, made))

    def find_thread(self, home: Place, *, key: str) -> Place | None:
        root = self._find(home, _tag("thread", key))
        return Place(self.name, home.chat, root) if root else None

    def send(self, place: Place, part: Part, *, key: str) -> str:
        tag = _tag("message", key)
        return self._post(place, tag, self._content(part, tag))

    def send_file(self, place: Place, file: OutFile, caption: Part | None, *, key: str) -> str:
        """The file is uploaded again by a repeat; the message is not posted again."""
        tag, text = _tag("message", key), render.safe(caption_of(caption, self.capabilities))
        return self._post(place, tag, render.file_content(file, self._api.upload(file), text, key=tag))

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:  # noqa: ARG002  # its server is in the id
        return self._api.fetch_file(file, limit=limit)

    def find_message(self, place: Place, *, key: str) -> str | None:
        return self._find(place, _tag("message", key))

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Each edit is an event. A repeated transaction would not bring back a text that was replaced since."""
        made = self._content(part, _tag("edit", message_id))
        self._api.send(place.chat, uuid.uuid4().hex, render.edited(made, message_id))

    def typing(self, place: Place) -> None:
        with contextlib.suppress(PlatformError):
            self._api.typing(place.chat, self._me)

    def render(self, markdown: str) -> list[Part]:
        return [Part(text) for text in render.pieces(markdown)]

    def link(self, place: Place) -> str:
        """With a server that knows the room, because newer ids of rooms do not name one."""
        base = self._urls.link
        if not (urlsplit(base).hostname or "").endswith("matrix.to"):
            return link_below(base, place)
        parts = [place.chat, place.thread] if place.thread else [place.chat]
        path = "/".join([base, *(quote(part, safe="!$:") for part in parts)])
        try:
            return f"{path}?via={self._me.partition(':')[2]}"
        except PlatformError:
            return path

    def pairing(self, code: str) -> Pairing:
        """Clients take a text that begins with a slash for a command of theirs."""
        try:
            return Pairing(f"link {code}", f"{self._urls.link}/{self._me}")
        except PlatformError:
            return Pairing(f"link {code}")

    def verify(self, request: WebhookRequest, *, now: int) -> bool:  # noqa: ARG002  # a shared secret has no age
        return inbound.is_from_homeserver(request, self._secrets.get("matrix/webhook_secret"))

    def parse(self, request: WebhookRequest) -> Parsed:
        return inbound.parse(request)

    def fetch(self, announced: Announced) -> Event | None:
        event = self._api.event(announced.place.chat, announced.message)
        found = inbound.read({**event, "room_id": announced.place.chat}) if event is not None else None
        return None if isinstance(found, str) else found

    def join(self, place: Place) -> None:
        """In an encrypted room it says so, and leaves."""
        # Does nothing where the bot is. To read the room proves nothing, as some are open to all.
        self._api.join(place.chat)
        if self._api.is_encrypted(place.chat):
            tag = _tag("encrypted", place.chat)
            self._api.send(place.chat, tag, render.content(f"{ENCRYPTED}.", html=None, key=tag))
            self._api.leave(place.chat, "The room is encrypted")
            raise Rejected("A Matrix room is encrypted, so the bot has left it")

    def is_me(self, bot_name: str) -> bool:
        """True if the homeserver does not answer: what follows then fails, too, and is tried again."""
        try:
            return bot_name == self._me
        except PlatformError:
            return True

    def is_private(self, chat: Place, *, person: str) -> bool:
        return self._api.members(chat.chat) == {self._me, person}

    def resolve_chat(self, chat: Place, *, people: Sequence[str]) -> ResolvedChat:
        if not SPEC.is_chat_id(chat.chat):
            raise Rejected(
                "This is not the id of a Matrix room. It begins with `!`: see Advanced in the room's settings. "
                "Aliases (`#…`) are not accepted, because they may lead to another room tomorrow"
            )
        others = self._api.members(chat.chat) - {self._me}
        if not others.intersection(people):
            if len(others) == 1:
                raise ForeignChat
            raise Rejected("None of your Matrix accounts is in this room. Join it first")
        if self._api.is_encrypted(chat.chat):
            raise Rejected(ENCRYPTED)
        return ResolvedChat(Place(self.name, chat.chat), private=len(others) == 1)

    def new_api(self) -> "Api":
        from shared.platforms.matrix.api import Api  # noqa: PLC0415  # webhooks are parsed without the HTTP client

        return Api(self._urls.api, self._secret("bot_token"))

    def _content(self, part: Part, tag: str) -> dict[str, Any]:
        from shared.platforms.matrix.html import as_html  # noqa: PLC0415  # webhooks are parsed without it

        text = render.safe(part.text)
        return render.content(text, html=as_html(text), key=tag)

    def _post(self, place: Place, tag: str, made: dict[str, Any]) -> str:
        if place.thread is None:
            return self._api.send(place.chat, tag, made)
        self._check_thread(place)
        return self._api.send(place.chat, tag, render.in_thread(made, place.thread))

    def _check_thread(self, place: Place) -> None:
        """The server would take a message below one that is deleted. Raises PlaceGone."""
        root = self._api.event(place.chat, place.thread) if place.thread else {}
        if root is None or "redacted_because" in (root.get("unsigned") or {}):
            raise PlaceGone("The first message of the Matrix thread was deleted")

    def _find(self, place: Place, tag: str) -> str | None:
        with contextlib.suppress(PlaceGone):  # nothing was posted there
            for event in self._api.messages(place.chat, place.thread):
                # Other people can copy a key into their messages.
                if event["content"].get(render.KEY) == tag and event["sender"] == self._me:
                    return str(event["event_id"])
        return None

    @property
    def _me(self) -> str:
        if self._own_id is None:
            self._own_id = self._api.me()
        return self._own_id


def _tag(kind: str, key: str) -> str:
    """A key as it is posted: people can read it, and keys may name sessions."""
    return hashlib.sha256(f"{kind} {key}".encode()).hexdigest()[:32]
