"""Tokens of the users of one machine: kept over restarts, with the scopes of this version."""

from local.server.tokens import TOKENS, keep_tokens
from shared.domain.tokens import USUAL, Scope
from shared.store.bundle import store_on
from shared.use_cases.people.authenticate import hash_of, new_token
from tests.support.memory_tables import MemoryTables


def test_the_token_of_the_owner_may_link_after_the_next_start() -> None:
    accounts = store_on(MemoryTables()).accounts
    known = {TOKENS[user]: new_token(user) for user in TOKENS}
    for user, name in TOKENS.items():
        accounts.add_token(user, hash_of(known[name]), scopes=USUAL)

    kept = keep_tokens(accounts, known, list(TOKENS), now=1)

    assert kept == {user: known[name] for user, name in TOKENS.items()}
    scopes = {user: [token.scopes for token in accounts.tokens(user)] for user in TOKENS}
    assert scopes == {"owner": [frozenset(Scope)], "other": [USUAL]}
