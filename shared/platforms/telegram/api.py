"""Calls to Telegram through python-telegram-bot, with its errors as PlatformErrors. Imported on the first call."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
from telegram import Bot, MessageEntity
from telegram.constants import ChatAction
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, NetworkError, TelegramError
from telegram.request import HTTPXRequest

from shared.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Rejected, ThreadRefused
from shared.platforms import loop

T = TypeVar("T")
_TLS = httpx.create_ssl_context()  # takes as long as ten calls, so all bots share one

# Seconds for all phases of a call together: a delivery has 30 s for three calls.
_HARD_LIMIT = 9.0
_TYPING_LIMIT = 4.0
_DEFAULT_RETRY_AFTER = 5.0  # for a rate limit that does not say how long

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


class _Request(HTTPXRequest):
    """Reads rate limits before the SDK does: the SDK's error for them emits a deprecation warning."""

    async def do_request(self, *arguments: Any, **options: Any) -> tuple[int, bytes]:
        code, payload = await super().do_request(*arguments, **options)
        if code == HTTPStatus.TOO_MANY_REQUESTS:
            raise _Limited(_seconds(payload))
        return code, payload


def _seconds(payload: bytes) -> float:
    try:
        return float(json.loads(payload)["parameters"]["retry_after"])
    except (ValueError, KeyError, TypeError):
        return _DEFAULT_RETRY_AFTER


class Api:
    """One bot. Every method blocks, raises only PlatformErrors, and may be called from several threads."""

    def __init__(self, url: str, token: str, *, limit: float = _HARD_LIMIT) -> None:
        self._limit = limit
        # At INFO httpx logs URLs, which contain the token; python-telegram-bot logs answers, which contain messages.
        for name, level in {
            "httpx": logging.WARNING,
            "httpcore": logging.WARNING,
            "telegram": logging.CRITICAL,
        }.items():
            logging.getLogger(name).setLevel(level)
        # A proxy from the environment is for public addresses, not for a simulator on this machine.
        outside = urlsplit(url).hostname not in ("127.0.0.1", "localhost", "::1")
        request = _Request(
            connection_pool_size=32,
            connect_timeout=4,
            read_timeout=8,
            write_timeout=8,
            pool_timeout=4,
            httpx_kwargs={"trust_env": outside, "verify": _TLS},
        )
        self._bot = Bot(token, base_url=url, request=request, get_updates_request=request)

    def create_topic(self, chat: str, name: str) -> int:
        try:
            return self._call(lambda bot: bot.create_forum_topic(chat, name)).message_thread_id
        except PlaceGone:
            raise
        except Rejected as error:
            if isinstance(error.__cause__, BadRequest):
                raise ThreadRefused(_why_no_thread(str(error))) from error
            raise

    def send(self, chat: str, thread: int | None, text: str, entities: Sequence[Mapping[str, Any]]) -> int:
        return self._call(
            lambda bot: bot.send_message(chat, text, entities=_entities(entities), message_thread_id=thread)
        ).message_id

    def edit(self, chat: str, message: int, text: str, entities: Sequence[Mapping[str, Any]]) -> None:
        try:
            self._call(
                lambda bot: bot.edit_message_text(text, chat_id=chat, message_id=message, entities=_entities(entities))
            )
        except Rejected as error:
            if "message is not modified" not in str(error).lower():
                raise

    def typing(self, chat: str, thread: int | None) -> None:
        self._call(
            lambda bot: bot.send_chat_action(chat, ChatAction.TYPING, message_thread_id=thread), limit=_TYPING_LIMIT
        )

    def chat_id(self, name: str) -> int:
        """The number of a public group, named `@like_this`."""
        return self._call(lambda bot: bot.get_chat(name)).id

    def username(self) -> str | None:
        return self._call(lambda bot: bot.get_me(), limit=_TYPING_LIMIT).username

    def ask(self, call: Callable[[Bot], Awaitable[T]], *, seconds: float) -> T:
        """A read-only call with a time-out."""
        return self._call(call, limit=seconds)

    def _call(self, call: Callable[[Bot], Awaitable[T]], *, limit: float | None = None) -> T:
        async def made() -> T:
            return await call(self._bot)

        try:
            return loop.run(made(), timeout=limit or self._limit)
        except TimeoutError as error:
            raise Ambiguous("Telegram did not answer in time") from error
        except TelegramError as error:
            raise translated(error) from error


def _entities(entities: Sequence[Mapping[str, Any]]) -> list[MessageEntity]:
    return [MessageEntity(**entity) for entity in entities]


def _why_no_thread(text: str) -> str:
    return next((why for part, why in _WHY_NO_THREAD.items() if part in text.lower()), text)


def translated(error: TelegramError) -> PlatformError:
    """The PlatformError that says whether the call may have had its effect."""
    if isinstance(error, _Limited):
        return RateLimited(error.seconds)
    if isinstance(error, (BadRequest, Forbidden, InvalidToken, ChatMigrated)):
        return _refusal(error)
    if isinstance(error.__cause__, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
        return NotSent("Telegram cannot be reached")
    if isinstance(error, NetworkError):
        return Ambiguous("The connection to Telegram broke before it answered")
    return Ambiguous("Telegram's answer could not be read")


def _refusal(error: TelegramError) -> Rejected:
    if isinstance(error, InvalidToken):
        return Rejected("Telegram does not accept the bot's token")
    if isinstance(error, ChatMigrated):
        return PlaceGone(f"This Telegram group became a supergroup with another id: {error.new_chat_id}")
    kind = PlaceGone if any(text in error.message.lower() for text in _GONE) else Rejected
    return kind(f"Telegram says: {error.message.removeprefix('Forbidden: ')}")
