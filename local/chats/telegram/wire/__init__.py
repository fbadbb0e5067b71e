"""Telegram's Bot API over HTTP."""
