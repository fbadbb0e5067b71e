"""Telegram: topics in forums and private chats, through a bot."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import ForeignChat, PlatformError, Rejected
from shared.platforms.base import BasePlatform
from shared.platforms.markdown.clean import title as as_title
from shared.platforms.markdown.split import utf16
from shared.platforms.spec import link_below
from shared.platforms.telegram import SPEC, inbound
from shared.platforms.telegram.diagnosis import TelegramDiagnosis
from shared.platforms.uploads import caption_of
from shared.ports.inbound import Parsed, Pressed, WebhookRequest
from shared.ports.platforms import Capabilities, Pairing, Part, ResolvedChat
from shared.ports.secrets import Secrets
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.platforms.telegram.api import Api

from shared.ports.platforms import Button

_TITLE_LIMIT = 128
_NOTICE_LIMIT = 200
_MARK_ROOM = 96  # Telegram has no idempotency: a part that is sent again gets a mark at its end
_GENERAL = "1"  # a forum's first topic: Telegram refuses its id, so messages to it are sent without one
_SUPERGROUPS = -(10**12)  # the ids of supergroups are below this, those of plain groups above
_LABEL_LIMIT = 75
_ROW_WIDTH = 30  # characters that a narrow phone shows
_MOST_IN_A_ROW = 4
_PHOTOS = frozenset({"image/png", "image/jpeg", "image/webp"})  # of a GIF a photo would be one frame
_STYLES = {"primary": "primary", "danger": "danger"}  # Telegram's names; the default style has none


class Telegram(BasePlatform["Api"]):
    """One bot. Telegram lets it neither list topics nor find a message, so the delivery journal records both."""

    spec, name, diagnosis = SPEC, SPEC.name, TelegramDiagnosis
    capabilities = Capabilities(
        threads=True,
        limit=4096,
        length=utf16,
        buttons=True,
        file_limit=50_000_000,
        picture_limit=10_000_000,
        caption_limit=1024,
    )

    def __init__(self, settings: Settings, secrets: Secrets) -> None:
        super().__init__(settings, secrets)
        self._username: str | None = None

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:  # noqa: ARG002  # a topic is open to the whole chat, and Telegram has no keys
        topic = self._api.create_topic(home.chat, as_title(title, _TITLE_LIMIT, utf16))
        return Place(self.name, home.chat, str(topic))

    def close_thread(self, place: Place) -> None:
        if place.thread:
            self._api.close_topic(place.chat, int(place.thread))

    def send(self, place: Place, part: Part, *, key: str) -> str:  # noqa: ARG002  # Telegram has no keys
        entities = part.extra.get("entities", ())
        return str(self._api.send(place.chat, _thread(place), part.text, entities, rows(part.buttons)))

    def send_file(self, place: Place, file: OutFile, caption: Part | None, *, key: str) -> str:  # noqa: ARG002  # Telegram has no keys
        text = caption_of(caption, self.capabilities)
        within = utf16(text)
        entities = [
            entity for entity in (caption.extra.get("entities", ()) if caption else ()) if _ends(entity) <= within
        ]
        is_picture = file.media_type in _PHOTOS and file.size <= self.capabilities.picture_limit
        sent = self._api.send_file(
            place.chat, _thread(place), file, is_picture=is_picture, caption=text, entities=entities
        )
        return str(sent)

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:  # noqa: ARG002  # ids are of the bot
        return self._api.fetch_file(file, limit=limit)

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        entities = part.extra.get("entities", ())
        self._api.edit(place.chat, int(message_id), part.text, entities, rows(part.buttons))

    def typing(self, place: Place) -> None:
        with contextlib.suppress(PlatformError):
            self._api.typing(place.chat, _thread(place))

    def acknowledge(self, pressed: Pressed, text: str) -> None:
        """Telegram shows it for some seconds at the top of the chat."""
        with contextlib.suppress(PlatformError):
            self._api.answer_press(pressed.handle, as_title(text, _NOTICE_LIMIT, utf16) if text.strip() else None)

    def render(self, markdown: str) -> list[Part]:
        from shared.platforms.telegram.render import render  # noqa: PLC0415  # webhooks are parsed without the converter

        return render(markdown, self.capabilities.limit - _MARK_ROOM)

    def link(self, place: Place) -> str:
        base = self._urls.link
        if urlsplit(base).hostname != "t.me":
            return link_below(base, place)
        if place.chat.startswith("-") and (number := int(place.chat)):
            if number < _SUPERGROUPS:
                return f"{base}/c/{_SUPERGROUPS - number}/{place.thread or _GENERAL}"
            return f"tg://openmessage?chat_id={-number}"
        if place.chat.startswith("@"):
            return f"{base}/{place.chat.removeprefix('@')}"
        return self._link_to_bot(base)

    def pairing(self, code: str) -> Pairing:
        """Telegram sends `/start CODE` for a person who opens this link and presses Start."""
        name = self._bot_name()
        url = f"{self._urls.link}/{name}?start={code.replace('-', '')}" if name else ""
        return Pairing(f"/link {code}", url)

    def verify(self, request: WebhookRequest, *, now: int) -> bool:  # noqa: ARG002  # a shared secret has no age
        return inbound.is_from_telegram(request.headers, self._secrets.get("telegram/webhook_secret"))

    def parse(self, request: WebhookRequest) -> Parsed:
        return inbound.parse(request.body)

    def is_me(self, bot_name: str) -> bool:
        name = self._bot_name()
        return name is None or name.lower() == bot_name.lower()

    def resolve_chat(self, chat: Place, *, people: Sequence[str]) -> ResolvedChat:
        """A private chat has the id of its person, groups have negative ids. The Bot API would also read 07001 as 7001."""
        if not SPEC.is_chat_id(chat.chat):
            raise Rejected("This is not a Telegram chat. Give the number of the chat, or the @name of a public group")
        number = str(self._api.chat_id(chat.chat)) if chat.chat.startswith("@") else chat.chat
        private = not number.startswith("-")
        if private and number not in people:
            raise ForeignChat
        return ResolvedChat(Place(self.name, number), private)

    def new_api(self) -> "Api":
        from shared.platforms.telegram.api import Api  # noqa: PLC0415  # webhooks are parsed without the SDK

        return Api(self._urls.api, self._secret("bot_token"))

    def _link_to_bot(self, base: str) -> str:
        """There is no link to a private chat, so link to the bot."""
        name = self._bot_name()
        token = self._secrets.get("telegram/bot_token") or ""
        return f"{base}/{name}" if name else f"tg://user?id={token.partition(':')[0]}"

    def _bot_name(self) -> str | None:
        """Asked once per process; None while Telegram does not answer."""
        if self._username is None:
            with contextlib.suppress(PlatformError):
                self._username = self._api.username()
        return self._username


def _thread(place: Place) -> int | None:
    return None if place.thread in (None, _GENERAL) else int(str(place.thread))


def _ends(entity: Mapping[str, Any]) -> int:
    return int(entity["offset"] + entity["length"])


def rows(buttons: Sequence[Button]) -> list[list[dict[str, str]]]:
    """The buttons in their order, as Telegram's fields: short ones share a row."""
    found: list[list[dict[str, str]]] = []
    width = 0
    for button in buttons:
        label = as_title(button.label, _LABEL_LIMIT, utf16)
        width += len(label)
        if not found or width > _ROW_WIDTH or len(found[-1]) == _MOST_IN_A_ROW:
            found.append([])
            width = len(label)
        style = {"style": _STYLES[button.style]} if button.style in _STYLES else {}
        found[-1].append({"text": label, "callback_data": button.id, **style})
    return found
