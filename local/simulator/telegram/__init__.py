"""Telegram's Bot API over HTTP, as its SDKs know it."""

from local.simulator.telegram.api import Telegram

__all__ = ["Telegram"]
