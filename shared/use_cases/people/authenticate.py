"""Authenticate a caller: a token contains its user's id, and only its hash is stored."""

import hashlib
import re
import secrets

from shared.errors import Unauthenticated
from shared.ports.accounts import Accounts

_TOKEN = re.compile(r"ho_([A-Za-z0-9_-]{1,64})\.[A-Za-z0-9_-]{20,128}")


def new_token(user_id: str) -> str:
    """A new token: the user's id and 256 random bits."""
    return f"ho_{user_id}.{secrets.token_urlsafe(32)}"


def hash_of(token: str) -> str:
    """The hash that is stored. A fast one is enough for 256 random bits."""
    return hashlib.sha256(token.encode()).hexdigest()


def authenticate(accounts: Accounts, authorization: str | None) -> str:
    """The user behind an `Authorization` header. Raises Unauthenticated."""
    scheme, _, token = (authorization or "").partition(" ")
    named = _TOKEN.fullmatch(token.strip())
    if scheme.lower() != "bearer" or named is None or not accounts.has_token(named[1], hash_of(token.strip())):
        raise Unauthenticated
    return named[1]
