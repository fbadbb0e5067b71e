"""Telegram's Bot API over HTTP, as its SDKs know it."""

from local.chats.telegram.wire.api import Telegram

__all__ = ["Telegram"]
