"""Tokens: what a caller may do, and for how long."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

ID_LENGTH = 12
MAX_LABEL = 100


class Scope(StrEnum):
    """A right of a token.

    READ: see one's own sessions, handoffs, platforms and tokens.
    HANDOFF: change them as well; includes READ.
    RUN: run one's own turns on a machine of one's own; includes READ.
    LINK: link and unlink one's accounts on platforms, whose words are one's own from then on; includes READ.
    ADMIN: list, add and remove users, and with LINK invite them. Includes nothing else.
    """

    HANDOFF = "handoff"
    READ = "read"
    RUN = "run"
    LINK = "link"
    ADMIN = "admin"


USUAL = frozenset({Scope.HANDOFF, Scope.READ, Scope.RUN})
"""The scopes of a token for which none were chosen."""
FIRST = USUAL | {Scope.LINK}
"""The scopes of a user's first token. Others need not link accounts, so a stolen one must not."""
_INCLUDES_READ = frozenset({Scope.HANDOFF, Scope.RUN, Scope.LINK})


@dataclass(frozen=True)
class Token:
    """A stored token. Its plaintext is known only to its user.

    `id` is the beginning of the hash, so every stored token has one. `last_used` is a day such as 2026-01-31.
    """

    id: str
    scopes: frozenset[Scope] = USUAL
    label: str = ""
    created_at: int | None = None
    expires_at: int | None = None
    last_used: str | None = None

    def allows(self, scope: Scope) -> bool:
        return scope in self.scopes or (scope is Scope.READ and not self.scopes.isdisjoint(_INCLUDES_READ))

    def is_expired(self, now: int) -> bool:
        return self.expires_at is not None and self.expires_at <= now


def token_id(token_hash: str) -> str:
    """The id of the token with this hash."""
    return token_hash[:ID_LENGTH]


def known_scopes(names: Iterable[str]) -> frozenset[Scope]:
    """The scopes with these names; a later version may have stored others, which allow nothing here."""
    return frozenset(scope for scope in Scope if scope.value in names)
