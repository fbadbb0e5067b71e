"""Accounts: tokens, homes and identities."""

import pytest

from shared.domain.routes import Place
from shared.domain.tokens import Scope, Token
from shared.ports.tables import Put, Table
from shared.store.bundle import Store
from tests.contracts.store.world import NOW
from tests.support.table_backends import Backend

STORED = {"pk": "USER#ada", "sk": f"TOKEN#{'0' * 64}"}


def test_a_token_is_known_for_its_own_user_only(store: Store) -> None:
    store.accounts.add_token("ada", "hash-1")
    store.accounts.add_token("ada", "hash-1")
    assert store.accounts.token("ada", "hash-1")
    assert not store.accounts.token("ada", "hash-2")
    assert not store.accounts.token("eve", "hash-1")


def test_a_token_is_listed_as_it_was_added(store: Store) -> None:
    scopes = frozenset({Scope.READ})
    store.accounts.add_token("ada", "b" * 64, scopes=scopes, label="laptop", created_at=NOW, expires_at=NOW + 5)
    store.accounts.add_token("ada", "a" * 64)
    first, second = store.accounts.tokens("ada")
    assert first == Token("a" * 12)
    assert second == Token("b" * 12, scopes, "laptop", NOW, NOW + 5)
    assert store.accounts.tokens("ad") == []


def test_a_token_is_revoked_by_its_id(store: Store) -> None:
    store.accounts.add_token("ada", "a" * 64)
    store.accounts.add_token("ada", "b" * 64)
    assert not store.accounts.remove_token("eve", "a" * 12)
    assert not store.accounts.remove_token("ada", "a" * 11)
    assert store.accounts.remove_token("ada", "a" * 12)
    assert not store.accounts.remove_token("ada", "a" * 12)
    assert not store.accounts.token("ada", "a" * 64)
    assert store.accounts.token("ada", "b" * 64)


def test_a_scope_of_a_later_version_allows_nothing(store: Store, backend: Backend) -> None:
    backend.tables.put(Put(Table.SESSIONS, {**STORED, "scopes": ["teleport", "read"]}))
    (token,) = store.accounts.tokens("ada")
    assert token.scopes == {Scope.READ}


def test_the_day_of_a_use_is_written_once(store: Store, backend: Backend) -> None:
    store.accounts.add_token("ada", "a" * 64)
    store.accounts.mark_used("ada", "a" * 12, "2026-01-31")
    (row,) = [item for item in backend.scan(Table.SESSIONS) if item["sk"] == f"ada/{'a' * 12}"]
    backend.tables.put(Put(Table.SESSIONS, {**row, "untouched": True}))
    store.accounts.mark_used("ada", "a" * 12, "2026-01-31")
    assert {**row, "untouched": True} in backend.scan(Table.SESSIONS)
    store.accounts.mark_used("ada", "a" * 12, "2026-02-01")
    assert [token.last_used for token in store.accounts.tokens("ada")] == ["2026-02-01"]


def test_a_revoked_token_cannot_add_another(store: Store) -> None:
    store.accounts.add_token("ada", "a" * 64)
    assert store.accounts.add_token("ada", "b" * 64, by="a" * 64)
    store.accounts.remove_token("ada", "a" * 12)
    assert not store.accounts.add_token("ada", "c" * 64, by="a" * 64)
    assert [token.id for token in store.accounts.tokens("ada")] == ["b" * 12]


def test_a_new_user_does_not_replace_another(store: Store) -> None:
    assert store.accounts.add_token("ada", "a" * 64, is_new_user=True)
    assert not store.accounts.add_token("ada", "b" * 64, is_new_user=True)
    assert [token.id for token in store.accounts.tokens("ada")] == ["a" * 12]


def test_users_are_listed_by_token_or_identity(store: Store) -> None:
    store.accounts.add_token("cleo", "a" * 64)
    store.accounts.add_identity("bob", "slack", "U1")
    assert store.accounts.users() == ["bob", "cleo"]
    store.accounts.mark_used("cleo", "a" * 12, "2026-01-31")
    assert store.accounts.users() == ["bob", "cleo"]


def test_an_identity_is_removed_from_both_ends(store: Store) -> None:
    store.accounts.add_identity("ada", "telegram", "7")
    store.accounts.add_identity("ada", "slack", "U#8")
    assert not store.accounts.remove_identity("eve", "telegram", "7")
    assert store.accounts.remove_identity("ada", "telegram", "7")
    assert not store.accounts.remove_identity("ada", "telegram", "7")
    assert store.accounts.user_of("telegram", "7") is None
    assert store.accounts.all_identities("ada") == {"slack": ["U#8"]}


def test_a_home_is_one_per_platform_and_the_last_one_set(store: Store) -> None:
    assert store.accounts.home("ada", "telegram") is None
    store.accounts.set_home("ada", Place("telegram", "1"))
    store.accounts.set_home("ada", Place("telegram", "2", "topic:3"))
    store.accounts.set_home("ada", Place("slack", "C1"))
    store.accounts.set_home("eve", Place("slack", "C2"))
    assert store.accounts.home("ada", "telegram") == Place("telegram", "2", "topic:3")
    assert store.accounts.homes("ada") == {"telegram": Place("telegram", "2", "topic:3"), "slack": Place("slack", "C1")}
    assert store.accounts.homes("nobody") == {}


def test_an_identity_is_found_from_both_ends(store: Store) -> None:
    store.accounts.add_identity("ada", "telegram", "7")
    store.accounts.add_identity("ada", "telegram", "U#8")
    store.accounts.add_identity("ada", "slack", "7")
    assert store.accounts.identities("ada", "telegram") == ["7", "U#8"]
    assert store.accounts.identities("ada", "slack") == ["7"]
    assert store.accounts.identities("eve", "slack") == []
    assert store.accounts.user_of("telegram", "U#8") == "ada"
    assert store.accounts.user_of("discord", "7") is None


def test_an_identity_may_be_added_again(store: Store) -> None:
    store.accounts.add_identity("ada", "telegram", "7")
    store.accounts.add_identity("ada", "telegram", "7")
    assert store.accounts.identities("ada", "telegram") == ["7"]


def test_an_identity_of_another_user_is_not_taken(store: Store) -> None:
    store.accounts.add_identity("ada", "telegram", "7")
    with pytest.raises(ValueError, match="another user"):
        store.accounts.add_identity("eve", "telegram", "7")
    assert store.accounts.user_of("telegram", "7") == "ada"
    assert store.accounts.identities("eve", "telegram") == []


def test_users_with_a_common_prefix_share_nothing(store: Store) -> None:
    store.accounts.set_home("ad", Place("telegram", "1"))
    store.accounts.add_identity("ada", "tele", "1")
    assert store.accounts.homes("ada") == {}
    assert store.accounts.identities("ada", "telegram") == []


def test_the_latest_time_that_a_person_wrote_stays(store: Store) -> None:
    store.accounts.add_identity("ada", "chat", "1")
    assert store.accounts.heard_at("chat", "1") is None
    for at in (NOW, NOW + 5, NOW + 5, NOW + 2):
        store.accounts.heard("chat", "1", at)
    store.accounts.heard("chat", "2", NOW + 9)
    assert store.accounts.heard_at("chat", "1") == NOW + 5
    assert store.accounts.user_of("chat", "1") == "ada"


def test_an_unlinked_person_was_never_heard(store: Store) -> None:
    store.accounts.add_identity("ada", "chat", "1")
    store.accounts.heard("chat", "1", NOW)
    store.accounts.add_identity("ada", "chat", "1")
    assert store.accounts.heard_at("chat", "1") == NOW
    store.accounts.remove_identity("ada", "chat", "1")
    assert store.accounts.heard_at("chat", "1") is None
