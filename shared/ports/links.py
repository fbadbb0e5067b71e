"""Codes that link accounts on chat platforms to users, and codes that give a first token."""

from collections.abc import Sequence
from typing import Protocol

from shared.domain.links import Link
from shared.domain.routes import Place
from shared.domain.tokens import Scope


class Links(Protocol):
    """Codes are known by their hashes. A writer that loses writes nothing."""

    def create(self, link: Link) -> bool:
        """Store a code, in the place of an earlier one for the same person and platform.

        False if the token that asks for it is gone, or has an expiry, which an account has not.
        """

    def is_pairing(self, platform: str, *, now: int) -> bool:
        """Whether a code for this platform may be open: then the bot accepts invitations of people it does not know yet."""

    def made_by(self, user_id: str) -> Sequence[Link]:
        """The newest code of a user for each person and platform, for about a day."""

    def find(self, platform: str, code_hash: str) -> Link | None:
        """The link with this code, if no newer one replaced it."""

    def count_try(self, platform: str, account: str, event_id: str, *, now: int) -> bool:
        """Count one try of a sender. False, and nothing is written, if there were too many in this hour.

        A redelivery of the last event is not counted again.
        """

    def use(self, link: Link, account: str, home: Place, event_id: str, *, now: int, name: str = "") -> bool:
        """open → linked, in one transaction: the account belongs to the user, and `home` is the user's home.

        `name` is what the account is called.

        For an invitation the user is made, too, and may log in once. False if the code is over, was used or replaced, the
        token that made it is gone, the account belongs to another user, or the invited name is taken.
        """

    def void(self, link: Link) -> bool:
        """open → void. False if it was not open any more."""

    def is_waiting(self, user_id: str) -> bool:
        """Whether the user was invited and linked, and has never logged in: such a person can be invited again."""

    def login_url(self, user_id: str, *, now: int) -> str | None:
        """Where a user who was invited and has not logged in yet may do so; None for all others."""

    def offer_login(self, user_id: str, code_hash: str, *, now: int) -> bool:
        """Let a code give the user's first token. An earlier code is void. False if the user may not log in so."""

    def login(
        self, user_id: str, code_hash: str, *, by: str, token_hash: str, scopes: frozenset[Scope], label: str, now: int
    ) -> bool:
        """Store the first token, once. `by` names the client: it may repeat this with the same token. False for all others.

        False also if the token that made the invitation is gone, and for a repeat after the first token was revoked.
        """
