"""Calls to Telegram through python-telegram-bot, with its errors as PlatformErrors. Imported on the first call."""

import asyncio
import contextlib
import json
import logging
import re
import ssl
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import aiohttp
import httpx
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, InputFile, MessageEntity
from telegram.constants import ChatAction
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, NetworkError, TelegramError
from telegram.request import BaseRequest, RequestData

from shared.domain.files import ChatFile, OutFile
from shared.errors import Ambiguous, NotSent, PlaceGone, RateLimited, Rejected, ThreadRefused
from shared.platforms import loop
from shared.platforms.aiohttp_uploads import FilePayload
from shared.platforms.answers import DEFAULT_RETRY_AFTER, Shape, Unreadable, check, retry_after
from shared.platforms.downloads import Source, check_size, download, origins, reference_of
from shared.platforms.http_api import new_client
from shared.platforms.spec import is_loopback
from shared.platforms.uploads import SECONDS as UPLOAD_SECONDS
from shared.platforms.uploads import FileReader, posted_name

T = TypeVar("T")
Fields = Sequence[Mapping[str, Any]]
"""Objects of Telegram in one list, each by its fields."""

_tls = cache(httpx.create_ssl_context)  # takes as long as a hundred calls, so all bots share one
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_CONNECTIONS = 128
# Shorter than Telegram's: after a container was frozen, an old connection may be closed.
_KEEP_ALIVE_SECONDS = 10
_TIMEOUT = aiohttp.ClientTimeout(connect=8, sock_connect=4, sock_read=8)

# Seconds for all phases of a call together: a delivery has 30 s for three calls.
_HARD_LIMIT = 9.0
_TYPING_LIMIT = 4.0
_UPLOAD = aiohttp.ClientTimeout(connect=8, sock_connect=4)  # the answer comes after all of the file

# What is read of the result of each method.
_RESULTS: Mapping[str, Shape] = {
    "answerCallbackQuery": None,
    "closeForumTopic": None,
    "createForumTopic": {"message_thread_id": int},
    "editMessageText": None,
    "getChat": {"id": int, "type": str, "title?": str, "first_name?": str, "last_name?": str, "is_forum?": bool},
    "getChatMember": {"status": str, "can_manage_topics?": bool},
    "getFile": {"file_path?": str},
    "getMe": {"id": int, "username?": str, "has_topics_enabled?": bool, "can_read_all_group_messages?": bool},
    "getWebhookInfo": {
        "url": str,
        "pending_update_count": int,
        "allowed_updates?": [str],
        "last_error_date?": int,
        "last_error_message?": str,
    },
    "deleteWebhook": None,
    "sendChatAction": None,
    "sendDocument": {"message_id": int},
    "sendMessage": {"message_id": int},
    "sendPhoto": {"message_id": int},
    "setWebhook": None,
}
_REFUSAL = {"ok": bool, "description?": str, "parameters?": {"migrate_to_chat_id?": int}}

_FILE_PATH = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*/)*[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_NO_PICTURE = re.compile(r"photo|image|dimension", re.IGNORECASE)
_GONE = ("chat not found", "message thread not found", "topic_deleted", "topic_id_invalid", "group chat was deleted")
_WHY_NO_THREAD = {
    "not a forum": "This Telegram chat has no topics. Turn on Topics in the group's settings, "
    "or for a private chat the bot's Threaded Mode in BotFather",
    "not enough rights": "The bot may not open topics in this Telegram chat. "
    "Make it an administrator that can manage topics",
}


class _Limited(TelegramError):
    """Telegram asks to wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__("Too many requests")
        self.seconds = seconds


class _Unreachable(NetworkError):
    """No connection, so the request was not made."""


class _Request(BaseRequest):
    """HTTP for the SDK by aiohttp, which takes a third of the processor time of the SDK's own client.

    Checks each answer before the SDK reads it: the SDK would raise anything, and quote it. Reads rate limits, too: the
    SDK's error for them emits a deprecation warning.
    """

    def __init__(self, tls: ssl.SSLContext | None, *, trust_env: bool) -> None:
        self._tls, self._trust_env = tls, trust_env
        self._session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float | None:
        return _TIMEOUT.sock_read

    async def initialize(self) -> None:
        """The session is made by the first request, on the loop of all requests."""

    async def shutdown(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def do_request(
        self, url: str, method: str, request_data: RequestData | None = None, *_: Any, **__: Any
    ) -> tuple[int, bytes]:
        code, payload = await self._fetch(method, url, request_data)
        if code == HTTPStatus.TOO_MANY_REQUESTS:
            raise _Limited(_seconds(payload))
        result = {"ok": bool, "result": _RESULTS[url.rpartition("/")[2]]}
        try:
            check(json.loads(payload), result if code < HTTPStatus.MULTIPLE_CHOICES else _REFUSAL)
        except (ValueError, Unreadable):
            raise TelegramError("unreadable") from None
        return code, payload

    async def _fetch(self, method: str, url: str, given: RequestData | None) -> tuple[int, bytes]:
        if self._session is None:
            self._session = self._open()
        fields = given.json_parameters if given else {}
        form: dict[str, Any] = {"data": urlencode(fields).encode(), "headers": _FORM}
        if given and given.contains_files:
            form = {"data": _multipart(fields, given), "timeout": _UPLOAD}
        try:
            async with self._session.request(method, url, allow_redirects=False, **form) as answer:
                return answer.status, await answer.read()
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            raise _Unreachable("unreachable") from None
        except (aiohttp.ClientError, OSError):  # a TimeoutError is an OSError
            raise NetworkError("broken") from None

    def _open(self) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=_CONNECTIONS, ssl=self._tls or True, keepalive_timeout=_KEEP_ALIVE_SECONDS
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": self.USER_AGENT},
            timeout=_TIMEOUT,
            trust_env=self._trust_env,
        )
        weakref.finalize(self, _close, asyncio.get_running_loop(), session).atexit = False
        return session


def _multipart(fields: Mapping[str, str], given: RequestData) -> aiohttp.FormData:
    form = aiohttp.FormData(fields)
    for name, (file_name, reader, _) in given.multipart_data.items():
        form.add_field(name, FilePayload(reader), filename=file_name)  # type: ignore[arg-type]  # a FileReader, of this module
    return form


def _close(loop: asyncio.AbstractEventLoop, session: aiohttp.ClientSession) -> None:
    """Close a session that nothing uses any more, on its loop."""
    with contextlib.suppress(RuntimeError):  # the loop is closed
        asyncio.run_coroutine_threadsafe(session.close(), loop)


def _seconds(payload: bytes) -> float:
    try:
        return retry_after(json.loads(payload)["parameters"]["retry_after"])
    except (ValueError, LookupError, TypeError):
        return DEFAULT_RETRY_AFTER


class Api:
    """One bot. Every method blocks, raises only PlatformErrors, and may be called from several threads."""

    def __init__(self, url: str, token: str, *, limit: float = _HARD_LIMIT) -> None:
        self._limit = limit
        # python-telegram-bot logs answers, which contain messages.
        logging.getLogger("telegram").setLevel(logging.CRITICAL)
        request = _Request(_tls() if urlsplit(url).scheme == "https" else None, trust_env=not is_loopback(url))
        self._files_url = f"{url.removesuffix('bot')}file/bot"
        self._bot = Bot(
            token, base_url=url, base_file_url=self._files_url, request=request, get_updates_request=request
        )
        self._http = new_client(url)
        self._source = Source("Telegram", origins(url))

    def create_topic(self, chat: str, name: str) -> int:
        try:
            return self._call(lambda bot: bot.create_forum_topic(chat, name)).message_thread_id
        except PlaceGone:
            raise
        except Rejected as error:
            if isinstance(error.__cause__, BadRequest):
                raise ThreadRefused(_why_no_thread(str(error))) from error
            raise

    def close_topic(self, chat: str, topic: int) -> None:
        """One that is closed already is a success."""
        try:
            self._call(lambda bot: bot.close_forum_topic(chat, topic))
        except Rejected as error:
            if "topic_not_modified" not in str(error).lower():
                raise

    def send(self, chat: str, thread: int | None, text: str, entities: Fields, keyboard: Sequence[Fields]) -> int:
        return self._call(
            lambda bot: bot.send_message(
                chat, text, entities=_entities(entities), message_thread_id=thread, reply_markup=_markup(keyboard)
            )
        ).message_id

    def send_file(
        self, chat: str, thread: int | None, file: OutFile, *, is_picture: bool, caption: str, entities: Fields
    ) -> int:
        """As a picture, or as a document, also if Telegram refuses the picture."""

        def posted() -> InputFile:  # a reader is closed with its request
            reader: Any = FileReader(file)
            return InputFile(reader, filename=posted_name(file.name), read_file_handle=False)

        more: dict[str, Any] = {"caption": caption or None, "caption_entities": _entities(entities)}
        more["message_thread_id"] = thread
        if is_picture:
            try:
                return self._call(lambda bot: bot.send_photo(chat, posted(), **more), limit=UPLOAD_SECONDS).message_id
            except Rejected as error:
                if not isinstance(error.__cause__, BadRequest) or not _NO_PICTURE.search(str(error)):
                    raise
        return self._call(
            lambda bot: bot.send_document(chat, posted(), disable_content_type_detection=True, **more),
            limit=UPLOAD_SECONDS,
        ).message_id

    def fetch_file(self, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        """The address of a file has the bot's token in it: it stays in this method."""
        reference = reference_of(file, "[A-Za-z0-9_-]+")
        check_size(file, limit)
        address = self._call(lambda bot: bot.get_file(reference), reads=True).file_path or ""
        path = address.removeprefix(f"{self._bot.base_file_url}/")
        if not _FILE_PATH.fullmatch(path):
            raise Rejected("Telegram does not say where the file is")
        return download(self._http, self._source, f"{self._bot.base_file_url}/{path}", file, limit=limit)

    def edit(self, chat: str, message: int, text: str, entities: Fields, keyboard: Sequence[Fields]) -> None:
        """Telegram removes the buttons of a message that is edited without any."""
        try:
            self._call(
                lambda bot: bot.edit_message_text(
                    text,
                    chat_id=chat,
                    message_id=message,
                    entities=_entities(entities),
                    reply_markup=_markup(keyboard),
                )
            )
        except Rejected as error:
            if "message is not modified" not in str(error).lower():
                raise

    def typing(self, chat: str, thread: int | None) -> None:
        self._call(
            lambda bot: bot.send_chat_action(chat, ChatAction.TYPING, message_thread_id=thread), limit=_TYPING_LIMIT
        )

    def answer_press(self, query: str, text: str | None) -> None:
        self._call(lambda bot: bot.answer_callback_query(query, text), limit=_TYPING_LIMIT)

    def chat_id(self, name: str) -> int:
        """The number of a public group, named `@like_this`."""
        return self._call(lambda bot: bot.get_chat(name), reads=True).id

    def username(self) -> str | None:
        return self._call(lambda bot: bot.get_me(), limit=_TYPING_LIMIT, reads=True).username

    def set_webhook(self, url: str, secret: str, updates: Sequence[str]) -> None:
        """Telegram posts these updates to the URL from now on, with the secret. Those that wait are kept."""
        self._call(lambda bot: bot.set_webhook(url, secret_token=secret, allowed_updates=list(updates)))

    def delete_webhook(self) -> None:
        """Let the bot poll. Updates that wait are kept."""
        self._call(lambda bot: bot.delete_webhook())

    def close(self) -> None:
        """Those for calls are closed with the last reference to the bot."""
        self._http.close()

    def ask(self, call: Callable[[Bot], Awaitable[T]], *, seconds: float) -> T:
        """A read-only call with a time-out."""
        return self._call(call, limit=seconds, reads=True)

    def _call(self, call: Callable[[Bot], Awaitable[T]], *, limit: float | None = None, reads: bool = False) -> T:
        """Raises PlatformErrors that say whether the call may have had its effect, and quote no unreadable answer."""

        async def made() -> T:
            return await call(self._bot)

        lost = NotSent if reads else Ambiguous
        try:
            return loop.run(made(), timeout=limit or self._limit)
        except TimeoutError:
            raise lost("Telegram did not answer in time") from None
        except _Limited as error:
            raise RateLimited(error.seconds) from None
        except (BadRequest, Forbidden, InvalidToken, ChatMigrated) as error:
            raise _refusal(error) from error
        except _Unreachable:
            raise NotSent("Telegram cannot be reached") from None
        except NetworkError:
            raise lost("The connection to Telegram broke before it answered") from None
        except Exception as error:  # noqa: BLE001  # the SDK reads fields that were not checked here, too
            raise lost(f"Telegram's answer could not be read ({type(error).__name__})") from None


def _entities(entities: Fields) -> list[MessageEntity]:
    return [MessageEntity(**entity) for entity in entities]


def _markup(keyboard: Sequence[Fields]) -> InlineKeyboardMarkup | None:
    return (
        InlineKeyboardMarkup([[InlineKeyboardButton(**button) for button in row] for row in keyboard])
        if keyboard
        else None
    )


def _why_no_thread(text: str) -> str:
    return next((why for part, why in _WHY_NO_THREAD.items() if part in text.lower()), text)


def _refusal(error: TelegramError) -> Rejected:
    if isinstance(error, InvalidToken):
        return Rejected("Telegram does not accept the bot's token")
    if isinstance(error, ChatMigrated):
        return PlaceGone(f"This Telegram group became a supergroup with another id: {error.new_chat_id}")
    kind = PlaceGone if any(text in error.message.lower() for text in _GONE) else Rejected
    return kind(f"Telegram says: {error.message.removeprefix('Forbidden: ')}")
