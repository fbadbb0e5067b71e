"""Authenticate a caller: a token contains its user's id, and only its hash is stored."""

import hashlib
import logging
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from shared.domain.tokens import Scope, Token
from shared.errors import DataFileError, MissingScope, Unauthenticated
from shared.store.accounts import Accounts

log = logging.getLogger(__name__)
MILLISECONDS_OF_DAY = 86_400_000
_TOKEN = re.compile(r"ho_([A-Za-z0-9_-]{1,64})\.[A-Za-z0-9_-]{20,128}")


@dataclass(frozen=True)
class Caller:
    """The user behind a request, and the token that the request carries."""

    user_id: str
    token: Token
    token_hash: str

    def require(self, *scopes: Scope) -> None:
        """Raise MissingScope, for the first of these, unless the token allows one of them."""
        if not any(map(self.token.allows, scopes)):
            raise MissingScope(scopes[0])


def new_token(user_id: str) -> str:
    """A new token: the user's id and 256 random bits."""
    return f"ho_{user_id}.{secrets.token_urlsafe(32)}"


def hash_of(token: str) -> str:
    """The hash that is stored. A fast one is enough for 256 random bits."""
    return hashlib.sha256(token.encode()).hexdigest()


def authenticate(accounts: Accounts, authorization: str | None, *, now: int) -> Caller:
    """The caller behind an `Authorization` header. Raises Unauthenticated, also for a token that has expired."""
    scheme, _, text = (authorization or "").partition(" ")
    named = _TOKEN.fullmatch(text.strip())
    if scheme.lower() != "bearer" or named is None:
        raise Unauthenticated
    user_id, token_hash = named[1], hash_of(text.strip())
    return Caller(user_id, _valid_token(accounts, user_id, token_hash, now=now), token_hash)


def authenticate_again(accounts: Accounts, caller: Caller, *, now: int) -> None:
    """Raise Unauthenticated if the caller's token was revoked, or has expired, since it was read."""
    _valid_token(accounts, caller.user_id, caller.token_hash, now=now)


def _valid_token(accounts: Accounts, user_id: str, token_hash: str, *, now: int) -> Token:
    token = accounts.token(user_id, token_hash)
    if token is None or token.is_expired(now):
        raise Unauthenticated
    return token


class LastUse:
    """Notes on which day each token was used: one write per token and day, tried once by each process."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._day = -1
        self._noted: set[str] = set()

    def is_due(self, caller: Caller, *, now: int) -> bool:
        """Whether the caller should `note` it: true once for each token and day. Not for several threads at once."""
        if now // MILLISECONDS_OF_DAY != self._day:
            self._day, self._noted = now // MILLISECONDS_OF_DAY, set()
        if caller.token_hash in self._noted:
            return False
        self._noted.add(caller.token_hash)
        return True

    def note(self, caller: Caller, *, now: int) -> None:
        """Best effort: a request must not fail because its day could not be noted."""
        day = datetime.fromtimestamp(now / 1000, UTC).date().isoformat()
        try:
            self._accounts.mark_used(caller.user_id, caller.token.id, day)
        except DataFileError as error:
            log.warning("the day of a token's use could not be noted: %s", error)
        except Exception:
            log.exception("the day of a token's use could not be noted")
