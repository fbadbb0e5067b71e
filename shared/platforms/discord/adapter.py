"""Discord: threads in text and forum channels; calls over REST, webhooks from Discord and from our relay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import Ambiguous, ForeignChat, NotSent, PlatformError, Rejected
from shared.platforms.base import BasePlatform
from shared.platforms.discord import SPEC, buttons, inbound, signatures, threads
from shared.platforms.discord.diagnosis import DiscordDiagnosis
from shared.platforms.discord.links import DiscordLinks
from shared.platforms.discord.render import for_discord
from shared.platforms.discord.seeds import NO_MENTIONS, nonce
from shared.platforms.markdown.clean import clean, neutralise
from shared.platforms.markdown.split import split
from shared.platforms.uploads import SECONDS as UPLOAD_SECONDS
from shared.platforms.uploads import caption_of, posted_name
from shared.ports.inbound import Parsed, Pressed, WebhookRequest
from shared.ports.platforms import Capabilities, Pairing, Part, ResolvedChat
from shared.ports.secrets import Secrets
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.platforms.discord.rest import Api

LIMIT = 2000
FILE_LIMIT = 10 * 2**20
# A delivery has 30 s for three calls. Short rate limits are waited for within a call, longer ones in the queue.
CALL_SECONDS = 9.0
PATIENCE_SECONDS = 3.0
_ACKNOWLEDGE_SECONDS = 2.0  # a press is answered while Discord waits for the webhook, for 3 s
_THREAD_SECONDS = 30.0  # several calls, and far inside the lease of a handoff


class Discord(BasePlatform["Api"]):
    """One application. A thread on Discord is a channel, so its place has no thread part."""

    spec, name, diagnosis = SPEC, SPEC.name, DiscordDiagnosis
    capabilities = Capabilities(
        threads=True,
        limit=LIMIT,
        key=True,
        buttons=True,
        file_limit=FILE_LIMIT,
        picture_limit=FILE_LIMIT,
        caption_limit=LIMIT,
    )

    def __init__(
        self,
        settings: Settings,
        secrets: Secrets,
        *,
        call_seconds: float = CALL_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        super().__init__(settings, secrets)
        self._seconds = {"limit": call_seconds, "patience": patience_seconds}
        self._links = DiscordLinks(self._urls.link)

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:
        """Safe to repeat: threads.py explains why."""

        async def work() -> Place:
            channel = await self._channel(home)
            thread = await threads.open_thread(self._api.http, channel, title, key=key, people=people)
            self._links.note_thread(thread.chat, channel)
            return thread

        return self._api.run(work(), seconds=_THREAD_SECONDS)

    def find_thread(self, home: Place, *, key: str) -> Place | None:
        async def work() -> Place | None:
            channel = await self._channel(home)
            thread = await threads.find_thread(self._api.http, channel, key=key)
            if thread is not None:
                self._links.note_thread(thread.chat, channel)
            return thread

        try:
            return self._api.run(work(), seconds=_THREAD_SECONDS)
        except Ambiguous as error:
            raise NotSent(str(error)) from error  # all of it is safe to repeat

    def send(self, place: Place, part: Part, *, key: str) -> str:
        """Post one part. Within minutes the same key posts nothing new and returns the first message's id."""
        body = {
            "content": part.text,
            "nonce": nonce(key),
            "enforce_nonce": True,
            "allowed_mentions": NO_MENTIONS,
            **({"components": buttons.as_components(part.buttons)} if part.buttons else {}),
        }
        message = self._api.call("POST", "/channels/{channel_id}/messages", body, channel_id=_channel_id(place))
        return str(message["id"])

    def send_file(self, place: Place, file: OutFile, caption: Part | None, *, key: str) -> str:
        """Safe to repeat as `send` is."""
        body = {
            "content": caption_of(caption, self.capabilities),
            "nonce": nonce(key),
            "enforce_nonce": True,
            "allowed_mentions": NO_MENTIONS,
            "attachments": [{"id": 0, "filename": posted_name(file.name)}],
        }
        path, seconds = "/channels/{channel_id}/messages", UPLOAD_SECONDS + 1
        message = self._api.call("POST", path, body, file=file, seconds=seconds, channel_id=_channel_id(place))
        return str(message["id"])

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        return self._api.fetch_file(_channel_id(place), file, limit=limit)

    def close_thread(self, place: Place) -> None:
        """Archived: the next message in it opens it again."""

        async def work() -> None:
            channel = await self._channel(place)
            if channel["type"] in threads.THREADS:
                path = "/channels/{channel_id}"
                await self._api.http.call("PATCH", path, {"archived": True}, channel_id=_channel_id(place))

        self._api.run(work(), seconds=_THREAD_SECONDS)

    def find_message(self, place: Place, *, key: str) -> str | None:
        """The message with the key's nonce, which Discord returns for some minutes."""
        path = "/channels/{channel_id}/messages"
        newest = self._api.call("GET", path, params={"limit": 50}, channel_id=_channel_id(place))
        # Other people can copy a nonce into their messages.
        ours = (message for message in newest if str(message["author"]["id"]) == self._api.http.me)
        return next((str(message["id"]) for message in ours if str(message.get("nonce")) == nonce(key)), None)

    def edit(self, place: Place, message_id: str, part: Part) -> None:
        """Discord keeps the buttons of a message unless they are given, or an empty list."""
        components = buttons.as_components(part.buttons)
        body = {"content": part.text, "allowed_mentions": NO_MENTIONS, "components": components}
        path = "/channels/{channel_id}/messages/{message_id}"
        self._api.call("PATCH", path, body, channel_id=_channel_id(place), message_id=message_id)

    def typing(self, place: Place) -> None:
        try:
            self._api.call("POST", "/channels/{channel_id}/typing", channel_id=_channel_id(place))
        except PlatformError:
            return

    def acknowledge(self, pressed: Pressed, text: str) -> None:
        """In one of two ways, which buttons.py explains."""
        try:
            self._api.run(buttons.acknowledge(self._api.http, pressed.handle, text), seconds=_ACKNOWLEDGE_SECONDS)
        except PlatformError:
            return

    def render(self, markdown: str) -> list[Part]:
        return [Part(text) for text in split(for_discord(neutralise(clean(markdown))), LIMIT)]

    def link(self, place: Place) -> str:
        """The channel's URL. Reads the channel from Discord once, to know its server."""
        channel_id = _channel_id(place)
        if not self._links.knows(channel_id):
            try:
                self._links.note(self._api.run(self._channel(place)))
            except PlatformError:
                return self._links.without_server(channel_id)
        return self._links.to(channel_id)

    def pairing(self, code: str) -> Pairing:
        """The link opens the bot's profile, and from there direct messages with it."""
        try:
            bot = self._api.call("GET", "/applications/@me")["bot"]
        except PlatformError:
            return Pairing(f"/link {code}")
        return Pairing(f"/link {code}", self._links.to_person(str(bot["id"])))

    def verify(self, request: WebhookRequest, *, now: int) -> bool:
        """Signed by Discord, or by our relay."""
        if _is_interaction(request):
            public_key = self._secrets.get("discord/public_key")
            return signatures.from_discord(request.headers, request.body, public_key=public_key, now=now)
        secret = self._secrets.get("discord/relay_secret")
        return signatures.from_relay(request.headers, request.body, secret=secret, now=now)

    def parse(self, request: WebhookRequest) -> Parsed:
        return inbound.parse(request.body, relayed=not _is_interaction(request))

    def resolve_chat(self, chat: Place, *, people: Sequence[str]) -> ResolvedChat:
        """Only the channel itself says whether it is private."""
        if not SPEC.is_chat_id(chat.chat):
            raise Rejected("This is not the id of a Discord channel. Copy it with Developer Mode on: it is a number")
        channel = self._api.run(self._channel(chat))
        if channel["type"] in threads.DIRECT and not {str(user["id"]) for user in channel.get("recipients", ())} & set(
            people
        ):
            raise ForeignChat
        if channel["type"] == threads.PRIVATE_THREAD:
            raise Rejected(
                "A private thread of Discord cannot be used. Choose a channel, or direct messages with the bot"
            )
        return ResolvedChat(Place(self.name, str(channel["id"])), private=channel["type"] == threads.DM)

    def new_api(self) -> Api:
        from shared.platforms.discord.rest import Api  # noqa: PLC0415  # webhooks are parsed without the SDK

        return Api(self._urls.api, self._secret("bot_token"), **self._seconds)

    async def _channel(self, place: Place) -> Mapping[str, Any]:
        path = "/channels/{channel_id}"
        found: Mapping[str, Any] = await self._api.http.call("GET", path, channel_id=_channel_id(place))
        return found


def _channel_id(place: Place) -> str:
    return place.thread or place.chat


def _is_interaction(request: WebhookRequest) -> bool:
    return signatures.DISCORD_SIGNATURE in request.headers
