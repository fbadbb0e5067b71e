"""Tokens of the users of this machine, which clients find in the data directory."""

from collections.abc import Mapping, Sequence

from local.users import USERS
from shared.domain.tokens import USUAL, Scope
from shared.store.accounts import Accounts
from shared.use_cases.people.authenticate import hash_of, new_token

TOKENS = {"owner": "HANDOFF_TOKEN", "other": "HANDOFF_OTHER_TOKEN"}
"""The variable of each user."""


def keep_tokens(accounts: Accounts, known: Mapping[str, str], users: Sequence[str], *, now: int) -> dict[str, str]:
    """The tokens of earlier runs, as long as they are valid, else new ones, by user. `known` are those variables."""
    return {user: _keep_token(accounts, known.get(TOKENS[user], ""), user, now=now) for user in users}


def _keep_token(accounts: Accounts, token: str, user: str, *, now: int) -> str:
    scopes = frozenset(Scope) if user == USERS[0] else USUAL  # the owner of the machine is its operator
    stored = accounts.token(user, hash_of(token)) if token else None
    if stored is None or not scopes <= stored.scopes:
        token = token if stored else new_token(user)
        accounts.add_token(user, hash_of(token), scopes=scopes, label="this machine", created_at=now)
    return token
