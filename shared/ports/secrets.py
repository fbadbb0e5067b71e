"""Tokens and keys."""

from typing import Protocol


class Secrets(Protocol):
    """Tokens and keys by name, such as `telegram/bot_token`."""

    def get(self, name: str) -> str | None:
        """The value, or None if it is not set. Never logged."""
