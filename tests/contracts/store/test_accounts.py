"""Accounts: tokens, homes and identities."""

import pytest

from shared.domain.routes import Place
from shared.ports.store import Store


def test_a_token_is_known_for_its_own_user_only(store: Store) -> None:
    store.accounts.add_token("ada", "hash-1")
    store.accounts.add_token("ada", "hash-1")
    assert store.accounts.has_token("ada", "hash-1")
    assert not store.accounts.has_token("ada", "hash-2")
    assert not store.accounts.has_token("eve", "hash-1")


def test_a_user_has_several_tokens(store: Store) -> None:
    store.accounts.add_token("ada", "hash-1")
    store.accounts.add_token("ada", "hash-2")
    assert store.accounts.has_token("ada", "hash-1")
    assert store.accounts.has_token("ada", "hash-2")


def test_a_removed_token_is_unknown(store: Store) -> None:
    store.accounts.add_token("ada", "hash-1")
    store.accounts.add_token("ada", "hash-2")
    for _ in range(2):
        store.accounts.remove_token("ada", "hash-1")
    assert not store.accounts.has_token("ada", "hash-1")
    assert store.accounts.has_token("ada", "hash-2")


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
