"""Users: their tokens, their homes, and their identities on platforms."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from shared.domain.routes import Place
from shared.domain.tokens import USUAL, Scope, Token


class Accounts(Protocol):
    """Users: tokens, homes, and identities on platforms. Every write may be repeated."""

    def token(self, user_id: str, token_hash: str) -> Token | None:
        """The token with this hash, without the day of its last use. One consistent read."""

    def tokens(self, user_id: str) -> Sequence[Token]:
        """All tokens of a user, expired ones included, in the order of their ids."""

    def add_token(
        self,
        user_id: str,
        token_hash: str,
        *,
        scopes: frozenset[Scope] = USUAL,
        label: str = "",
        created_at: int | None = None,
        expires_at: int | None = None,
        by: str | None = None,
        is_new_user: bool = False,
    ) -> bool:
        """Store a token's hash. False, and nothing is stored, in these cases.

        `by` is the hash of the user's token that asks for another one, and is gone. `is_new_user`, and `users` has the user.
        """

    def remove_token(self, user_id: str, token_id: str) -> bool:
        """Revoke a token; it fails from the next request on. False if the user has no token with this id."""

    def mark_used(self, user_id: str, token_id: str, day: str) -> None:
        """Note the day of a token's use; writes at most once a day."""

    def users(self) -> Sequence[str]:
        """The ids of all users who got a token or an identity, or used a token, in order.

        Users of an older version who have done none of these since are missing.
        """

    def forget_tokens(self, user_id: str) -> None:
        """Revoke all tokens and codes of a user, those included that are added by one of them at the same time."""

    def forget(self, user_id: str) -> None:
        """Remove identities, homes, and the user from `users`, after `forget_tokens` and the user's sessions."""

    def home(self, user_id: str, platform: str) -> Place | None: ...
    def homes(self, user_id: str) -> Mapping[str, Place]: ...
    def set_home(self, user_id: str, home: Place) -> None: ...

    def add_identity(self, user_id: str, platform: str, person: str) -> None:
        """Link a platform's user id to a user. Raises ValueError if it is linked to another user."""

    def remove_identity(self, user_id: str, platform: str, person: str) -> bool:
        """Unlink a platform's user id. False if it is not linked to this user."""

    def unlink(self, user_id: str, platform: str) -> bool:
        """Unlink all of a user's accounts on a platform and remove the home there. False if there was nothing."""

    def identities(self, user_id: str, platform: str) -> Sequence[str]: ...

    def all_identities(self, user_id: str) -> Mapping[str, Sequence[str]]:
        """A user's ids on each platform where there is one."""

    def user_of(self, platform: str, person: str) -> str | None: ...

    def heard(self, platform: str, person: str, at: int) -> None:
        """Note that a person wrote at `at` (ms). The latest time stays; it is kept for two days."""

    def heard_at(self, platform: str, person: str) -> int | None:
        """When the person last wrote; None if that is long ago, or was never noted."""
