"""WhatsApp: the chat with a person is the place. No threads, no edits; a bot may write for 24 hours after the person did."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import ForeignChat, PlatformError, Rejected
from shared.platforms.base import BasePlatform
from shared.platforms.markdown.clean import clean, neutralise
from shared.platforms.markdown.split import split, utf16
from shared.platforms.spec import link_below
from shared.platforms.uploads import caption_of, posted_name
from shared.platforms.whatsapp import SPEC, inbound, messages
from shared.platforms.whatsapp.diagnosis import WhatsAppDiagnosis
from shared.platforms.whatsapp.render import for_whatsapp
from shared.ports.inbound import Parsed, Pressed, WebhookRequest
from shared.ports.platforms import Capabilities, Pairing, Part, ResolvedChat
from shared.ports.secrets import Secrets
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.platforms.whatsapp.api import Api

_LIMIT = 4096
_REPEAT_ROOM = 96  # for the mark of a repeat
_ACKNOWLEDGE_SECONDS = 2.0  # a press is answered while WhatsApp waits for the webhook
_LINK_SECONDS = 5.0
_PICTURES = frozenset({"image/png", "image/jpeg"})
_DOCUMENTS = frozenset(
    {
        "application/pdf",
        "text/plain",
        "application/msword",
        "application/vnd.ms-excel",
        "application/vnd.ms-powerpoint",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    }
)
_TEXTS = re.compile(
    r"text/.+|application/(?:json|xml|yaml|toml|javascript|sql|x-sh|x-python|x-yaml|x-ndjson)|image/svg\+xml"
)
_WAMID = re.compile(r"[A-Za-z0-9._=/+-]{1,200}")


class WhatsApp(BasePlatform["Api"]):
    """One phone number of a business. It reports each message that it accepts to the webhook, with the key."""

    spec, name, diagnosis = SPEC, SPEC.name, WhatsAppDiagnosis
    capabilities = Capabilities(
        threads=False,
        limit=_LIMIT,
        length=utf16,
        receipts=True,
        buttons=True,
        most_buttons=messages.MOST_BUTTONS,
        edits=False,
        file_limit=100_000_000,
        picture_limit=5_000_000,
        caption_limit=1024,
    )

    def __init__(self, settings: Settings, secrets: Secrets) -> None:
        super().__init__(settings, secrets)
        self._shown_number: str | None = None

    def send(self, place: Place, part: Part, *, key: str) -> str:
        return self._api.send(messages.message(place.chat, part, key))

    def send_file(self, place: Place, file: OutFile, caption: Part | None, *, key: str) -> str:
        """The file is uploaded first; only the message that shows it is reported with the key."""
        is_picture = file.media_type in _PICTURES and file.size <= self.capabilities.picture_limit
        media = self._api.upload(file, _document_type(file))
        shown = {"id": media, "caption": caption_of(caption, self.capabilities)}
        if is_picture:
            return self._api.send(messages.file_message(place.chat, "image", shown, key))
        shown["filename"] = posted_name(file.name)
        return self._api.send(messages.file_message(place.chat, "document", shown, key))

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:  # noqa: ARG002  # ids are of the bot
        return self._api.fetch_file(file, limit=limit)

    def edit(self, place: Place, message_id: str, part: Part) -> None:  # noqa: ARG002  # always refused
        raise Rejected("A message on WhatsApp cannot be edited by a bot")

    def typing(self, place: Place) -> None:
        """WhatsApp shows it only in answer to a message whose id is known here no longer."""

    def acknowledge(self, pressed: Pressed, text: str) -> None:
        """A message that quotes the press: the chat is private, and the buttons stay as they were."""
        if text.strip() and _WAMID.fullmatch(pressed.handle):
            with contextlib.suppress(PlatformError):
                body = messages.quoting(pressed.place.chat, pressed.handle, text)
                self._api.send(body, seconds=_ACKNOWLEDGE_SECONDS)

    def render(self, markdown: str) -> list[Part]:
        """Parts as long as possible: WhatsApp limits how many messages a person gets in a minute."""
        room = _LIMIT - _REPEAT_ROOM
        pieces = split(neutralise(clean(markdown)), room, utf16)
        return [Part(shown if utf16(shown := for_whatsapp(piece)) <= room else piece) for piece in pieces]

    def link(self, place: Place) -> str:
        """The chat with the bot: for a person it has the bot's number."""
        base = self._urls.link
        if not (urlsplit(base).hostname or "").endswith("wa.me"):
            return link_below(base, place)
        number = self._bot_number()
        return f"{base}/{number}" if number else base

    def pairing(self, code: str) -> Pairing:
        """The link opens the chat with the bot, with the text in its box."""
        text, number = f"/link {code}", self._bot_number()
        return Pairing(text, f"{self._urls.link}/{number}?{urlencode({'text': text})}" if number else "")

    def verify(self, request: WebhookRequest, *, now: int) -> bool:  # noqa: ARG002  # the signature has no time
        secret, token = self._secrets.get("whatsapp/app_secret"), self._secrets.get("whatsapp/verify_token")
        return inbound.is_from_whatsapp(request, secret, token)

    def parse(self, request: WebhookRequest) -> Parsed:
        return inbound.parse(request, self._secrets.get("whatsapp/phone_number_id"))

    def resolve_chat(self, chat: Place, *, people: Sequence[str]) -> ResolvedChat:
        """Decided by the id alone: WhatsApp does not tell a bot who has an account."""
        if not SPEC.is_chat_id(chat.chat):
            raise Rejected("This is not a number of WhatsApp. Write it with the country code, in digits only")
        if chat.chat not in people:
            raise ForeignChat
        return ResolvedChat(Place(self.name, chat.chat), private=True)

    def new_api(self) -> "Api":
        from shared.platforms.whatsapp.api import Api  # noqa: PLC0415  # webhooks are parsed without httpx

        return Api(self._urls.api, lambda: self._secret("access_token"), lambda: self._secret("phone_number_id"))

    def _bot_number(self) -> str | None:
        """The number as people dial it, in digits. WhatsApp is asked once."""
        if self._shown_number is None:
            with contextlib.suppress(PlatformError):
                shown = self._api.number(seconds=_LINK_SECONDS)["display_phone_number"]
                self._shown_number = re.sub(r"[^0-9]", "", shown)
        return self._shown_number


def _document_type(file: OutFile) -> str:
    """A type that WhatsApp takes: texts of all kinds as plain text. Raises Rejected where there is none."""
    if file.media_type in _PICTURES | _DOCUMENTS:
        return file.media_type
    if _TEXTS.fullmatch(file.media_type):
        return "text/plain"
    raise Rejected(f"WhatsApp takes no files of the type {file.media_type}: send a PDF, a picture or a text")
