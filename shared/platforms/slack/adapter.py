"""Slack: a thread belongs to a message of the bot, in channels and direct messages."""

import contextlib
import hashlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import ForeignChat, PlaceGone, PlatformError, Rejected
from shared.platforms.base import BasePlatform
from shared.platforms.markdown.clean import clean, neutralise
from shared.platforms.markdown.clean import title as as_title
from shared.platforms.markdown.split import split
from shared.platforms.slack import SPEC, inbound
from shared.platforms.slack.blocks import ROOM
from shared.platforms.slack.diagnosis import SlackDiagnosis
from shared.platforms.spec import link_below
from shared.platforms.uploads import caption_of, posted_name
from shared.ports.inbound import Parsed, Pressed, WebhookRequest
from shared.ports.platforms import Capabilities, Pairing, Part, ResolvedChat
from shared.ports.secrets import Secrets
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.platforms.slack.api import Api

log = logging.getLogger(__name__)
_TITLE_LIMIT = 150
_PAIRING_SECONDS = 4.0
_RESPONSES = "https://hooks.slack.com"


class Slack(BasePlatform["Api"]):
    """One app in one workspace. The metadata of messages holds their keys, so that they can be found again."""

    spec, name, diagnosis = SPEC, SPEC.name, SlackDiagnosis
    capabilities = Capabilities(
        threads=True,
        limit=12_000,
        readback=True,
        buttons=True,
        file_limit=1_000_000_000,
        picture_limit=1_000_000_000,
        caption_limit=3_000,
    )

    def __init__(self, settings: Settings, secrets: Secrets) -> None:
        super().__init__(settings, secrets)
        self._identity: Mapping[str, Any] | None = None
        self._responses = _response_urls(self._urls.api)

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:
        channel = home.chat
        # A direct message notifies its person; in a channel only people who are mentioned see a thread.
        mentions = [] if channel.startswith("D") else [f"<@{person}>" for person in people if SPEC.is_person_id(person)]
        posted = self._api.post_seed(
            channel, as_title(title, _TITLE_LIMIT), " ".join(mentions), _metadata("handoff_thread", key)
        )
        return Place(self.name, str(posted["channel"]), str(posted["ts"]))

    def find_thread(self, home: Place, *, key: str) -> Place | None:
        ts = self._find(home, _metadata("handoff_thread", key))
        return Place(self.name, home.chat, ts) if ts else None

    def send(self, place: Place, part: Part, *, key: str) -> str:
        posted = self._api.post(place.chat, place.thread, part.text, _metadata("handoff_message", key), part.buttons)
        ts = str(posted["ts"])
        self._check_thread(place, posted["message"].get("thread_ts"), str(posted["channel"]), ts)
        return ts

    def send_file(self, place: Place, file: OutFile, caption: Part | None, *, key: str) -> str:
        """People see the title. The name, under which the file is saved, holds the key: such a message has no metadata.

        Returns the id of the file if Slack does not tell in time which message shows it.
        """
        title = posted_name(file.name)
        file_id = self._api.upload(file, _keyed(title, key))
        text = caption_of(caption, self.capabilities)
        self._api.share(place.chat, place.thread, {"id": file_id, "title": title}, text)
        share = self._api.share_of(file_id, place.chat)
        if share is None:
            return file_id
        self._check_thread(place, share.get("thread_ts"), place.chat, share["ts"])
        return str(share["ts"])

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:  # noqa: ARG002  # ids are of the workspace
        return self._api.fetch_file(file, limit=limit)

    def find_message(self, place: Place, *, key: str) -> str | None:
        """A text by its metadata, a file by its name."""
        return self._find(place, _metadata("handoff_message", key), file=_tag(key))

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        self._api.update(place.chat, message_id, part.text, part.buttons)

    def typing(self, place: Place) -> None:
        if place.thread:
            with contextlib.suppress(PlatformError):
                self._api.set_status(place.chat, place.thread, "is thinking…")

    def acknowledge(self, pressed: Pressed, text: str) -> None:
        """Slack's answer is not read. A URL of another host is not called, although Slack has signed it."""
        if not text.strip():
            return
        if not self._responses.fullmatch(pressed.handle):
            log.warning("slack: a press is not answered, its response_url is not one of Slack")
            return
        with contextlib.suppress(Exception):  # the SDK raises what it meets, and a press is answered once at most
            self._api.respond(pressed.handle, pressed.place.thread, text)

    def render(self, markdown: str) -> list[Part]:
        return [Part(text) for text in split(neutralise(clean(markdown)), self.capabilities.limit - ROOM)]

    def link(self, place: Place) -> str:
        base = self._urls.link
        if not (urlsplit(base).hostname or "").endswith("slack.com"):
            return link_below(base, place)
        try:
            workspace = str(self._me["url"]).rstrip("/")
        except PlatformError:
            return f"{base}?{urlencode({'channel': place.chat})}"
        archive = f"{workspace}/archives/{place.chat}"
        if not place.thread:
            return archive
        return f"{archive}/p{place.thread.replace('.', '')}?{urlencode({'thread_ts': place.thread, 'cid': place.chat})}"

    def pairing(self, code: str) -> Pairing:
        """Slack takes a text that begins with a slash for a command of its own."""
        url = ""
        with contextlib.suppress(PlatformError):
            bot, _ = self._api.who(seconds=_PAIRING_SECONDS)
            asked = {"channel": bot["user_id"], **({"team": bot["team_id"]} if bot.get("team_id") else {})}
            url = f"{self._urls.link}?{urlencode(asked)}"
        return Pairing(f"link {code}", url)

    def verify(self, request: WebhookRequest, *, now: int) -> bool:
        secret = self._secrets.get("slack/signing_secret")
        return inbound.is_from_slack(request.headers, request.body, secret, now=now)

    def parse(self, request: WebhookRequest) -> Parsed:
        return inbound.parse(request.headers, request.body)

    def resolve_chat(self, chat: Place, *, people: Sequence[str]) -> ResolvedChat:
        """A person's id becomes the direct messages with them, which are opened if there are none yet."""
        if not SPEC.is_chat_id(chat.chat):
            raise Rejected("This is not the id of a Slack channel. It begins with C, D or G: see the channel's details")
        if SPEC.is_person_id(chat.chat):
            if chat.chat not in people:
                raise ForeignChat
            return ResolvedChat(Place(self.name, self._api.direct(chat.chat)), private=True)
        channel = self._api.conversation(chat.chat)
        if channel.members is not None and not channel.members.intersection(people):
            raise ForeignChat
        return ResolvedChat(Place(self.name, channel.id), private=channel.is_direct)

    def new_api(self) -> "Api":
        from shared.platforms.slack.api import Api  # noqa: PLC0415  # webhooks are parsed without the SDK

        return Api(self._urls.api, self._secret("bot_token"))

    def _check_thread(self, place: Place, thread: str | None, channel: str, ts: str) -> None:
        """Slack posts a reply to a deleted message into the channel itself. Raises PlaceGone, after deleting it."""
        if place.thread and thread != place.thread:
            with contextlib.suppress(PlatformError):
                self._api.delete(channel, ts)
            raise PlaceGone("The Slack thread no longer exists")

    def _find(self, place: Place, wanted: Mapping[str, Any], *, file: str | None = None) -> str | None:
        with contextlib.suppress(PlaceGone):  # nothing was posted there
            for message in self._api.messages(place.chat, place.thread):
                # Other apps can copy a key into their messages.
                has_key = wanted.items() <= (message.get("metadata") or {}).items()
                names = [str(one.get("name")) for one in message.get("files") or ()]
                if (has_key or (file and any(file in name for name in names))) and message.get("user") == self._me[
                    "user_id"
                ]:
                    return str(message["ts"])
        return None

    @property
    def _me(self) -> Mapping[str, Any]:
        """The bot and its workspace. Slack is asked once."""
        if self._identity is None:
            self._identity = self._api.me()
        return self._identity


def _tag(key: str) -> str:
    """A key in the name of a file."""
    return f"-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def _keyed(name: str, key: str) -> str:
    """`plot.png` as `plot-3f9a2c1b77d0.png`."""
    stem, dot, extension = name.rpartition(".")
    return f"{stem}{_tag(key)}{dot}{extension}" if stem else f"{name}{_tag(key)}"


def _response_urls(api_url: str) -> re.Pattern[str]:
    """The URLs to which answers to presses are posted: below Slack's host for them, or that of another API."""
    api = urlsplit(api_url)
    base = _RESPONSES if (api.hostname or "").endswith("slack.com") else f"{api.scheme}://{api.netloc}"
    return re.compile(re.escape(base) + r"(?:/[A-Za-z0-9_-]+)+")


def _metadata(kind: str, key: str) -> dict[str, Any]:
    return {"event_type": kind, "event_payload": {"key": key}}
