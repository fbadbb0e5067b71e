"""The first user of a deployment, and a token for the CLI of the operator."""

import time
from collections.abc import Mapping
from typing import Any

from shared.aws.tables import DynamoTables
from shared.domain.tokens import Scope
from shared.store.accounts import Accounts
from shared.store.bundle import store_on
from shared.use_cases.people.tokens import issue_token


def accounts_of(dynamodb: Any, outputs: Mapping[str, str]) -> Accounts:
    """The users of the stack with these outputs."""
    tables = DynamoTables(dynamodb, handoffs=outputs["HandoffsTableName"], sessions=outputs["SessionsTableName"])
    return store_on(tables).accounts


def issue(accounts: Accounts, user: str, *, label: str) -> str:
    """A new token with all rights for the operator, who has them anyway. Returns it; only its hash is stored.

    A deploy that was interrupted before its token reached the config file leaves one that is never used: it is revoked here.
    """
    for token in accounts.tokens(user):
        if token.label == label and token.last_used is None:
            accounts.remove_token(user, token.id)
    now = time.time_ns() // 1_000_000
    return issue_token(accounts, user, now=now, scopes=frozenset(Scope), label=label).plaintext
