"""Create and revoke tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.links import LinkedAccount
from shared.domain.tokens import USUAL, Scope, Token, token_id
from shared.errors import InvalidRequest, MissingScope, Unauthenticated, UnknownToken, UserExists
from shared.services import Services
from shared.store.accounts import Accounts
from shared.use_cases.people.authenticate import Caller, hash_of, new_token
from shared.use_cases.people.links import unlink_accounts


@dataclass(frozen=True)
class Issued:
    """A new token and its plaintext, which is not stored."""

    token: Token
    plaintext: str


def issue_token(
    accounts: Accounts,
    user_id: str,
    *,
    now: int,
    scopes: frozenset[Scope] = USUAL,
    label: str = "",
    expires_at: int | None = None,
    by: Caller | None = None,
) -> Issued:
    """Store a new token. With `by`, it is stored only while that caller's own token is valid."""
    plaintext = new_token(user_id)
    stored = accounts.add_token(
        user_id,
        hash_of(plaintext),
        scopes=scopes,
        label=label,
        created_at=now,
        expires_at=expires_at,
        by=by.token_hash if by else None,
    )
    if not stored:
        raise Unauthenticated
    return Issued(Token(token_id(hash_of(plaintext)), scopes, label, now, expires_at), plaintext)


def create_token(
    services: Services, caller: Caller, *, scopes: frozenset[Scope], label: str, expires_at: int | None
) -> Issued:
    """A further token for the caller, which allows no more and lasts no longer than the one that asks for it.

    Raises MissingScope, InvalidRequest, or Unauthenticated if the caller's token was revoked just now.
    """
    now = services.clock.now()
    for scope in sorted(scopes):
        if not caller.token.allows(scope):
            raise MissingScope(scope)
    if expires_at is not None and expires_at <= now:
        raise InvalidRequest("`expires_at` is in the past. No token was created.")
    longest = caller.token.expires_at
    if longest is not None:
        if expires_at is not None and expires_at > longest:
            raise InvalidRequest("A new token cannot last longer than the one that creates it. No token was created.")
        expires_at = expires_at or longest
    accounts = services.store.accounts
    return issue_token(accounts, caller.user_id, now=now, scopes=scopes, label=label, expires_at=expires_at, by=caller)


def revoke_token(accounts: Accounts, user_id: str, wanted: str) -> Sequence[LinkedAccount]:
    """Revoke one of a user's tokens, effective at once, and return the accounts that its codes have linked.

    A repeat returns them as long as they are linked. Raises UnknownToken, alike for another user's.
    """
    is_removed = accounts.remove_token(user_id, wanted)
    linked = accounts.linked_by(user_id, wanted)  # after that: a code needs its token
    if not is_removed and not linked:
        raise UnknownToken(wanted)
    return linked


def revoke_own_token(services: Services, caller: Caller, wanted: str, *, unlink: bool) -> Sequence[LinkedAccount]:
    """`revoke_token` for the caller. With `unlink`, the accounts are unlinked, too: a repeat after a crash goes on.

    Raises UnknownToken, or MissingScope if the caller may not unlink.
    """
    if unlink:
        caller.require(Scope.LINK)
    linked = revoke_token(services.store.accounts, caller.user_id, wanted)
    if unlink:
        unlink_accounts(services, caller, linked)
    return linked


def add_user(services: Services, caller: Caller, user_id: str, *, label: str = "") -> Issued:
    """A new user with a first token, which lasts no longer than the one that asks for it. Raises UserExists.

    It may link accounts only if that one may: without `link` nothing leads to an account.
    """
    accounts = services.store.accounts
    plaintext = new_token(user_id)
    now = services.clock.now()
    scopes = USUAL | (caller.token.scopes & {Scope.LINK})
    token = Token(token_id(hash_of(plaintext)), scopes, label, now, caller.token.expires_at)
    if not accounts.add_token(
        user_id,
        hash_of(plaintext),
        scopes=token.scopes,
        label=label,
        created_at=now,
        expires_at=token.expires_at,
        is_new_user=True,
    ):
        raise UserExists(user_id)
    return Issued(token, plaintext)
