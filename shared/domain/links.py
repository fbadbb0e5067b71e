"""Pairing: a short code that links an account on a chat platform to a user."""

import re
import secrets
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.routes import Place

ALPHABET = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Without characters that look like others: 0 and O, 1, I and L, U and V."""
LENGTH = 8
LIFETIME = 600_000
LOGIN_LIFETIME = 1_800_000
"""Milliseconds. Who was invited may have to install the client first."""
TRIES_PER_HOUR = 5
_CODE = rf"([{ALPHABET}]{{4}})[ -]?([{ALPHABET}]{{4}})"
_COMMAND = re.compile(rf"/(?:link|start)\s+{_CODE}", re.IGNORECASE)
_WORDS_IN_GROUPS = re.compile(rf"link\s+{_CODE}", re.IGNORECASE)
_WORDS = re.compile(rf"(?:link\s+)?{_CODE}", re.IGNORECASE)


@dataclass(frozen=True)
class LinkedAccount:
    """An account of a user. `chat` is the private chat from which its code was sent, if a code has linked it."""

    platform: str
    account: str
    chat: Place | None = None


@dataclass(frozen=True)
class NewAccount:
    """The note that an account was linked with a token, and that these `chats` of its user must be told."""

    id: str
    user_id: str
    platform: str
    account: str
    token_id: str
    chats: tuple[Place, ...]


class LinkState(StrEnum):
    """OPEN until the code is used (LINKED), or replaced or shown to others (VOID). Time and the end of its token end it, too."""

    OPEN = "open"
    LINKED = "linked"
    VOID = "void"


@dataclass(frozen=True)
class Link:
    """A code that was made for a user, and what became of it. Its plaintext is not stored.

    `by` made it, with the token `token_hash`: the user themselves, or for an `is_invitation` another one. It ends with that
    token. `base_url` is where clients reach the service. `moves_home`: the person asked that the private chat becomes the home
    even if there is another one.
    After its use `account` is the person's id on the platform, `account_name` what they are called there, if it is known,
    and `home` the private chat from which it was sent.
    """

    id: str
    by: str
    user_id: str
    platform: str
    code_hash: str
    valid_until: int
    token_hash: str
    is_invitation: bool = False
    moves_home: bool = False
    base_url: str = ""
    state: LinkState = LinkState.OPEN
    account: str | None = None
    account_name: str | None = None
    home: Place | None = None
    event_id: str | None = None

    def is_open(self, now: int) -> bool:
        return self.state is LinkState.OPEN and self.valid_until > now

    @property
    def slot(self) -> str:
        """There is one code at a time for each person and platform: a new one replaces it."""
        return f"{self.platform}#{self.user_id}"


def new_code() -> str:
    """A new code: 39 random bits, so it is short-lived, and tries are counted."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


def shown(code: str) -> str:
    """A code as a person reads and types it."""
    return f"{code[: LENGTH // 2]}-{code[LENGTH // 2 :]}"


def code_in_command(text: str) -> str | None:
    """The code of `/link CODE`, or of `/start CODE`, which Telegram sends for a link with a code in it."""
    return _found(_COMMAND, text)


def code_in_words(text: str, *, is_private: bool = True) -> str | None:
    """The code of a message that is nothing but a code, in a group only after `link`: Slack keeps texts with a slash."""
    return _found(_WORDS if is_private else _WORDS_IN_GROUPS, text)


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    matched = pattern.fullmatch(text.strip())
    return f"{matched[1]}{matched[2]}".upper() if matched else None
