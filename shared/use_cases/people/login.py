"""The first token of a person who was invited: given once, for a link that only their private chat has shown."""

import base64
import hashlib
import hmac
import re
import secrets

from shared.domain.tokens import FIRST, Token, token_id
from shared.errors import LoginRefused
from shared.services import Services
from shared.use_cases.people.authenticate import hash_of
from shared.use_cases.people.tokens import Issued
from shared.use_cases.retry import on_conflict

LABEL = "first login"
_CODE = re.compile(r"hl_([A-Za-z0-9_-]{1,64})\.[A-Za-z0-9_-]{32}")


def offer_login(services: Services, user_id: str) -> str | None:
    """A link that gives the user's first token, once; None if the user was not invited or has logged in."""
    now = services.clock.now()
    base_url = services.store.links.login_url(user_id, now=now)
    if base_url is None:
        return None
    code = f"hl_{user_id}.{secrets.token_urlsafe(24)}"
    if not services.store.links.offer_login(user_id, hash_of(code), now=now):
        return None
    return f"{base_url}/login#{code}"  # browsers and previews do not send what follows the #


def login(services: Services, code: str, key: str) -> tuple[str, Issued]:
    """The user, and the first token. `key` is a random text that only the client knows. Raises LoginRefused.

    A client that lost the answer repeats this with its key and gets the same token: it follows from code and key, and
    is not stored. Every other key is refused.
    """
    named = _CODE.fullmatch(code)
    if named is None:
        raise LoginRefused
    user_id, now = named[1], services.clock.now()
    digest = hmac.new(code.encode(), key.encode(), hashlib.sha256).digest()
    plaintext = f"ho_{user_id}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"

    def store() -> bool:
        return services.store.links.login(
            user_id,
            hash_of(code),
            by=hash_of(key),
            token_hash=hash_of(plaintext),
            scopes=FIRST,
            label=LABEL,
            now=now,
        )

    if not on_conflict(store):
        raise LoginRefused
    return user_id, Issued(Token(token_id(hash_of(plaintext)), FIRST, LABEL, now), plaintext)
