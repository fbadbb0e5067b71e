"""Find out who asks: a token names its user, and only its hash is stored."""

import hashlib
import re
import secrets

from shared.errors import Unauthenticated
from shared.ports.accounts import Accounts

_TOKEN = re.compile(r"ho_([A-Za-z0-9_-]{1,64})\.[A-Za-z0-9_-]{20,128}")


def new_token(user_id: str) -> str:
    """A fresh token for a user: 256 random bits behind the user's id."""
    return f"ho_{user_id}.{secrets.token_urlsafe(32)}"


def hash_of(token: str) -> str:
    """What is stored of a token. Its 256 random bits need no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def authenticate(accounts: Accounts, authorization: str | None) -> str:
    """The user behind an `Authorization` header. Raises Unauthenticated."""
    scheme, _, token = (authorization or "").partition(" ")
    named = _TOKEN.fullmatch(token.strip())
    if scheme.lower() != "bearer" or named is None or not accounts.has_token(named[1], hash_of(token.strip())):
        raise Unauthenticated
    return named[1]
