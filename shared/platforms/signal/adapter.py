"""Signal: the chat with a person, or a group, is the place. No threads and no buttons; messages can be edited."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import ForeignChat, PlaceGone, PlatformError, Rejected
from shared.platforms.base import BasePlatform
from shared.platforms.markdown.clean import clean, neutralise
from shared.platforms.markdown.split import split, utf16
from shared.platforms.signal import SPEC, inbound
from shared.platforms.signal.diagnosis import SignalDiagnosis, members_of
from shared.platforms.spec import link_below
from shared.platforms.uploads import caption_of
from shared.ports.inbound import Parsed, WebhookRequest
from shared.ports.platforms import Capabilities, Pairing, Part, ResolvedChat

if TYPE_CHECKING:
    from shared.platforms.signal.api import Api

_LIMIT = 2000
"""The apps show a longer text as an attachment."""
_REPEAT_ROOM = 96  # for the mark of a repeat
_TYPING_SECONDS = 4.0
_CLOCK_SECONDS = 600  # between this clock and that of the daemon
_READ_SECONDS = 10.0


class Signal(BasePlatform["Api"]):
    """One account, through the daemon of signal-cli. Signal has neither idempotency nor a history to read back."""

    spec, name, diagnosis = SPEC, SPEC.name, SignalDiagnosis
    capabilities = Capabilities(
        threads=False,
        limit=_LIMIT,
        length=utf16,
        file_limit=100_000_000,
        picture_limit=100_000_000,
        caption_limit=_LIMIT,
    )

    def send(self, place: Place, part: Part, *, key: str) -> str:  # noqa: ARG002  # Signal takes none
        return str(self._api.send(_to(place), part.text))

    def send_file(self, place: Place, file: OutFile, caption: Part | None, *, key: str) -> str:  # noqa: ARG002  # Signal takes none
        """The apps show a picture by its type."""
        return str(self._api.send_file(_to(place), file, caption_of(caption, self.capabilities)))

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        group = inbound.group_of_chat(place.chat)
        return self._api.fetch_file({"groupId": group} if group else {"recipient": place.chat}, file, limit=limit)

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        """The daemon takes any time as that of a message, so one that is not yet over is refused here."""
        if not message_id.isdecimal() or int(message_id) > (time.time() + _CLOCK_SECONDS) * 1000:
            raise Rejected("There is no such message")
        self._api.send(_to(place), part.text, edit=int(message_id))

    def typing(self, place: Place) -> None:
        with contextlib.suppress(PlatformError):
            self._api.ask("sendTyping", _to(place), seconds=_TYPING_SECONDS)

    def render(self, markdown: str) -> list[Part]:
        return [Part(text) for text in split(neutralise(clean(markdown)), _LIMIT - _REPEAT_ROOM, utf16)]

    def link(self, place: Place) -> str:
        """Signal has no links to chats, only to people by their numbers: the app itself is opened."""
        return self._urls.link if self._urls.link == SPEC.link_url else link_below(self._urls.link, place)

    def pairing(self, code: str) -> Pairing:
        """A link to the chat with the bot, by its number: without that it cannot be found."""
        account = self._secrets.get("signal/account")
        return Pairing(f"/link {code}", f"{SPEC.link_url}/#p/{account}" if account else "")

    def verify(self, request: WebhookRequest, *, now: int) -> bool:
        secret = self._secrets.get("signal/relay_secret")
        return inbound.is_from_relay(request.headers, request.body, secret, now=now)

    def parse(self, request: WebhookRequest) -> Parsed:
        return inbound.parse(request.body, self._secrets.get("signal/account"))

    def resolve_chat(self, chat: Place, *, people: Sequence[str]) -> ResolvedChat:
        """A group is open to its members, the chat with a person to that person."""
        if not SPEC.is_chat_id(chat.chat):
            raise Rejected(
                "This is not the id of a person or a group on Signal: docs/platforms/signal.md says how to find it"
            )
        group = inbound.group_of_chat(chat.chat)
        if group is None:
            if chat.chat not in people:
                raise ForeignChat
            return ResolvedChat(Place(self.name, chat.chat), private=True)
        members = members_of(self._api, group, seconds=_READ_SECONDS)
        if members is None:
            raise PlaceGone("The bot is not in this group on Signal. Add its number there")
        if not members.intersection(people):
            raise ForeignChat
        return ResolvedChat(Place(self.name, inbound.chat_of_group(group)))

    def new_api(self) -> "Api":
        from shared.platforms.signal.api import Api  # noqa: PLC0415  # webhooks are parsed without httpx

        return Api(self._urls.api, lambda: self._secret("account"))


def _to(place: Place) -> dict[str, Any]:
    group = inbound.group_of_chat(place.chat)
    return {"recipient": [place.chat]} if group is None else {"groupId": group}
