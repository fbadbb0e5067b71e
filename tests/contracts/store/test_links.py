"""Pairing codes: one use, one winner, and nothing is written by a code that is over."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from shared.domain.links import LIFETIME, LOGIN_LIFETIME, TRIES_PER_HOUR, Link, LinkedAccount, LinkState, NewAccount
from shared.domain.routes import Place
from shared.domain.tokens import USUAL, token_id
from shared.ports.tables import Table
from shared.store.bundle import Store
from shared.use_cases.people.remove_user import remove_user
from tests.contracts.store.racing import insist, race
from tests.contracts.store.world import NOW
from tests.support.memory_files import MemoryFiles
from tests.support.table_backends import Backend

HERE = Place("chat", "77")
OTHER = Place("chat", "88")
HOUR = 3_600_000


def link(code_hash: str = "h1", **changes: Any) -> Link:
    return replace(Link("l1", "ada", "ada", "chat", code_hash, NOW + LIFETIME, token_hash="token"), **changes)


def invitation(code_hash: str = "i1") -> Link:
    return link(code_hash, user_id="bob", is_invitation=True, base_url="https://service.test")


def make(store: Store, *links: Link) -> None:
    store.accounts.add_token("ada", "token")
    for each in links:
        assert store.links.create(each)


def used(
    store: Store, each: Link, account: str = "77", home: Place = HERE, event: str = "e1", *, now: int = NOW, **more: Any
) -> bool:
    return store.links.use(each, account, home, event, now=now, **more)


def accounts_of(backend: Backend) -> list[dict[str, Any]]:
    """Everything that pairing may write but the codes themselves."""
    items = backend.scan(Table.SESSIONS)
    return [item for item in items if item["sk"].startswith(("HOME", "IDENTITY", "PERSON", "LOGIN", "bob"))]


def test_a_code_links_an_account_and_sets_the_home(store: Store) -> None:
    make(store, link())
    found = store.links.find("chat", "h1")
    assert found == link()
    assert used(store, found)
    assert store.accounts.user_of("chat", "77") == "ada"
    assert store.accounts.identities("ada", "chat") == ["77"]
    assert store.accounts.home("ada", "chat") == HERE
    (seen,) = store.links.made_by("ada")
    assert seen.account_name is None
    assert (seen.state, seen.account, seen.home, seen.event_id) == (LinkState.LINKED, "77", HERE, "e1")


def test_a_name_is_kept_for_the_maker_of_the_code(store: Store) -> None:
    make(store, link())
    assert store.links.use(link(), "77", HERE, "e1", now=NOW, name="Olivia")
    assert [seen.account_name for seen in store.links.made_by("ada")] == ["Olivia"]


def test_a_code_is_of_one_platform(store: Store) -> None:
    make(store, link())
    assert store.links.find("chatter", "h1") is None
    assert store.links.find("chat", "h2") is None


def test_a_code_works_once(store: Store, backend: Backend) -> None:
    make(store, link())
    assert used(store, link())
    before = backend.scan(Table.SESSIONS)
    assert not used(store, link(), "88", OTHER, "e2")
    assert backend.scan(Table.SESSIONS) == before


@pytest.mark.parametrize("now", [NOW + LIFETIME, NOW + LIFETIME + 1])
def test_a_code_that_is_over_writes_nothing(store: Store, backend: Backend, now: int) -> None:
    make(store, link())
    before = backend.scan(Table.SESSIONS)
    assert not used(store, link(), now=now)
    assert backend.scan(Table.SESSIONS) == before


def test_an_account_of_another_user_is_not_taken(store: Store, backend: Backend) -> None:
    store.accounts.add_identity("eve", "chat", "77")
    make(store, link())
    before = backend.scan(Table.SESSIONS)
    assert not used(store, link())
    assert backend.scan(Table.SESSIONS) == before
    assert store.accounts.user_of("chat", "77") == "eve"


def test_a_home_is_moved_only_if_the_person_asked(store: Store) -> None:
    store.accounts.set_home("ada", OTHER)
    make(store, link())
    assert used(store, link())
    assert store.accounts.home("ada", "chat") == OTHER

    asked = link("h2", moves_home=True)
    make(store, asked)
    assert store.links.find("chat", "h2") == asked
    assert used(store, asked)
    assert store.accounts.home("ada", "chat") == HERE


def test_a_home_that_is_set_at_the_same_time_stays(store: Store) -> None:
    make(store, link())
    race(insist(lambda: used(store, link())), insist(lambda: store.accounts.set_home("ada", OTHER)))
    assert store.accounts.home("ada", "chat") == OTHER


def test_chats_are_told_of_a_new_account_once(store: Store) -> None:
    make(store, link())
    assert used(store, link(), chats=[OTHER, HERE])
    (news,) = store.links.untold()
    assert news == NewAccount("l1", "ada", "chat", "77", token_id("token"), (OTHER,))
    assert store.links.untold("l1") == [news]
    assert store.links.untold("l2") == []

    store.links.told(news, now=NOW)
    store.links.told(news, now=NOW)
    assert store.links.untold() == []


@pytest.mark.parametrize("chats", [[], [HERE]])
def test_nothing_is_told_where_no_other_chat_is(store: Store, chats: list[Place]) -> None:
    make(store, link())
    assert used(store, link(), chats=chats)
    assert store.links.untold() == []


def test_an_account_that_is_not_linked_is_not_told(store: Store) -> None:
    make(store, link())
    assert not used(store, link(), now=NOW + LIFETIME, chats=[OTHER])
    assert store.links.untold() == []


def test_an_account_knows_the_token_that_linked_it_first(store: Store) -> None:
    store.accounts.add_identity("ada", "chat", "by the operator")
    make(store, link())
    assert used(store, link())
    store.accounts.add_token("ada", "another token")
    for number, account in enumerate(["77", "by the operator"]):
        again = link(f"again{number}", id=f"again{number}", token_hash="another token")
        make(store, again)
        assert used(store, again, account, chats=[OTHER])

    assert store.accounts.linked_by("ada", token_id("token")) == [LinkedAccount("chat", "77", HERE)]
    assert store.accounts.linked_by("ada", token_id("another token")) == []
    assert store.links.untold() == [], "none of them is a new account"


def test_the_accounts_of_a_token_are_known_after_it_is_revoked(store: Store) -> None:
    make(store, link(), invitation())
    assert used(store, link())
    assert used(store, invitation(), "88", OTHER)
    assert store.accounts.remove_token("ada", token_id("token"))
    assert store.accounts.linked_by("ada", token_id("token")) == [LinkedAccount("chat", "77", HERE)]


@pytest.mark.parametrize(("home", "left"), [(HERE, None), (OTHER, OTHER)])
def test_unlinking_one_account_removes_only_its_own_home(store: Store, home: Place, left: Place | None) -> None:
    make(store, link())
    assert used(store, link())
    store.accounts.set_home("ada", home)
    store.accounts.add_identity("ada", "chat", "78")
    (linked,) = store.accounts.linked_by("ada", token_id("token"))
    for _ in range(2):
        store.accounts.unlink_account("ada", linked)
        assert store.accounts.identities("ada", "chat") == ["78"]
        assert store.accounts.home("ada", "chat") == left
    assert store.accounts.linked_by("ada", token_id("token")) == []


def test_chats_are_homes_and_the_private_chats_of_pairings(store: Store) -> None:
    store.accounts.set_home("ada", OTHER)
    store.accounts.set_home("ada", Place("chatter", "1"))
    store.accounts.add_identity("ada", "chatter", "without a known chat")
    make(store, link())
    assert used(store, link())
    assert store.accounts.chats("ada") == [OTHER, Place("chatter", "1"), HERE]
    store.accounts.set_home("ada", HERE)
    assert store.accounts.chats("ada") == [HERE, Place("chatter", "1")]


def test_a_new_code_replaces_the_last_one(store: Store, backend: Backend) -> None:
    make(store, link("h1"), link("h2", id="l2"))
    assert store.links.find("chat", "h1") is None
    assert not used(store, link("h1"))
    assert accounts_of(backend) == []
    assert used(store, link("h2", id="l2"))


def test_codes_of_other_platforms_and_people_stay(store: Store) -> None:
    make(store, link("h1"), link("h2", platform="chatter"), invitation("h3"))
    found = [store.links.find("chat", "h1"), store.links.find("chatter", "h2"), store.links.find("chat", "h3")]
    assert all(found)
    assert len(store.links.made_by("ada")) == 3


def test_a_void_code_cannot_be_used(store: Store, backend: Backend) -> None:
    make(store, link())
    assert store.links.void(link())
    assert not store.links.void(link())
    assert not used(store, link())
    assert accounts_of(backend) == []


def test_a_revoked_token_makes_no_code(store: Store, backend: Backend) -> None:
    before = backend.scan(Table.SESSIONS)
    assert not store.links.create(link(token_hash="gone"))
    assert backend.scan(Table.SESSIONS) == before


@pytest.mark.parametrize("made", [link(), invitation()], ids=["link", "invitation"])
def test_a_token_with_an_expiry_makes_no_code(store: Store, backend: Backend, made: Link) -> None:
    store.accounts.add_token("ada", "token", expires_at=NOW + 10 * LIFETIME)
    before = backend.scan(Table.SESSIONS)
    assert not store.links.create(made)
    assert backend.scan(Table.SESSIONS) == before


@pytest.mark.parametrize("made", [link(), invitation()], ids=["link", "invitation"])
def test_a_code_ends_with_the_token_that_made_it(store: Store, backend: Backend, made: Link) -> None:
    make(store, made)
    assert store.accounts.remove_token("ada", "token")
    before = backend.scan(Table.SESSIONS)
    assert not used(store, made)
    assert backend.scan(Table.SESSIONS) == before


def test_codes_go_with_their_user(store: Store) -> None:
    make(store, link())
    store.accounts.forget_tokens("ada")
    assert store.links.find("chat", "h1") is None
    assert not used(store, link())


def test_of_two_senders_one_wins(store: Store) -> None:
    make(store, link())
    tries = [partial(used, store, link(), person, Place("chat", person), person) for person in ("77", "88", "99")]
    outcomes = race(*map(insist, tries))
    assert sorted(outcomes) == [False, False, True]
    (winner,) = store.accounts.identities("ada", "chat")
    assert store.accounts.home("ada", "chat") == Place("chat", winner)
    assert [store.accounts.user_of("chat", person) for person in ("77", "88", "99")].count("ada") == 1


def test_of_two_codes_for_one_account_one_wins(store: Store) -> None:
    store.accounts.add_token("eve", "token")
    make(store, link())
    eves = link("h2", by="eve", user_id="eve")
    assert store.links.create(eves)
    outcomes = race(insist(lambda: used(store, link())), insist(lambda: used(store, eves)))
    assert sorted(outcomes) == [False, True]
    owner = store.accounts.user_of("chat", "77")
    assert owner == ("ada" if outcomes[0] else "eve")
    assert [bool(store.accounts.identities(user, "chat")) for user in ("ada", "eve")] == outcomes


def test_of_a_use_and_a_replacement_one_counts(store: Store) -> None:
    make(store, link())
    newer = link("h2", id="l2")
    race(
        insist(lambda: used(store, link())),
        insist(lambda: store.links.create(newer)),
    )
    assert store.links.find("chat", "h1") is None
    assert used(store, newer, event="e2")
    assert store.accounts.identities("ada", "chat") == ["77"]


def tries(store: Store, number: int, *, now: int = NOW, person: str = "77") -> list[bool]:
    return [store.links.count_try("chat", person, f"e{now}-{i}", now=now) for i in range(number)]


def test_tries_are_counted_per_sender_and_hour(store: Store, backend: Backend) -> None:
    assert tries(store, TRIES_PER_HOUR) == [True] * TRIES_PER_HOUR
    before = backend.scan(Table.SESSIONS)
    assert tries(store, 3, now=NOW + 1) == [False] * 3
    assert backend.scan(Table.SESSIONS) == before
    assert tries(store, 1, person="88") == [True]
    assert tries(store, TRIES_PER_HOUR + 1, now=NOW + HOUR) == [True] * TRIES_PER_HOUR + [False]


def test_a_redelivery_is_not_counted(store: Store) -> None:
    assert [store.links.count_try("chat", "77", "same", now=NOW) for _ in range(9)] == [True] * 9
    assert tries(store, TRIES_PER_HOUR) == [True] * (TRIES_PER_HOUR - 1) + [False]


def test_tries_at_once_are_not_more(store: Store) -> None:
    each = [partial(store.links.count_try, "chat", "77", f"e{number}", now=NOW) for number in range(12)]
    assert sum(race(*map(insist, each))) == TRIES_PER_HOUR


def login(store: Store, code: str = "c1", by: str = "laptop", result: str = "t1", now: int = NOW) -> bool:
    return store.links.login("bob", code, by=by, token_hash=result, scopes=USUAL, label="first", now=now)


def test_an_invited_person_becomes_a_user(store: Store) -> None:
    make(store, invitation())
    assert store.links.login_url("bob", now=NOW) is None
    assert used(store, invitation())
    assert store.accounts.users() == ["ada", "bob"]
    assert store.accounts.user_of("chat", "77") == "bob"
    assert store.accounts.home("bob", "chat") == HERE
    assert store.links.login_url("bob", now=NOW) == "https://service.test"
    assert store.links.is_waiting("bob")
    assert not store.links.is_waiting("ada")
    assert not store.accounts.tokens("bob")


def test_an_invitation_takes_no_name_that_is_in_use(store: Store, backend: Backend) -> None:
    make(store, invitation())
    store.accounts.add_token("bob", "his own")
    before = backend.scan(Table.SESSIONS)
    assert not used(store, invitation())
    assert backend.scan(Table.SESSIONS) == before


def test_a_login_gives_one_token(store: Store, backend: Backend) -> None:
    make(store, invitation())
    used(store, invitation())
    assert not login(store)
    assert store.links.offer_login("bob", "c1", now=NOW)
    assert not login(store, "c2")
    assert login(store)
    (token,) = store.accounts.tokens("bob")
    assert (token.label, token.scopes) == ("first", USUAL)
    before = backend.scan(Table.SESSIONS)
    assert not login(store, by="another", result="t2")
    assert not store.links.offer_login("bob", "c3", now=NOW)
    assert store.links.login_url("bob", now=NOW) is None
    assert not store.links.is_waiting("bob")
    assert backend.scan(Table.SESSIONS) == before
    assert login(store), "the client did not get the answer, and asks again"
    assert len(store.accounts.tokens("bob")) == 1


def test_a_login_ends_with_the_token_that_invited(store: Store, backend: Backend) -> None:
    make(store, invitation())
    used(store, invitation())
    store.links.offer_login("bob", "c1", now=NOW)
    assert store.accounts.remove_token("ada", "token")
    before = backend.scan(Table.SESSIONS)
    assert not login(store)
    assert backend.scan(Table.SESSIONS) == before


def test_a_repeated_login_restores_no_revoked_token(store: Store, backend: Backend) -> None:
    make(store, invitation())
    used(store, invitation())
    store.links.offer_login("bob", "c1", now=NOW)
    assert login(store)
    assert store.accounts.remove_token("bob", "t1")
    before = backend.scan(Table.SESSIONS)
    assert not login(store)
    assert backend.scan(Table.SESSIONS) == before


def test_a_login_is_repeated_by_its_client_at_once(store: Store) -> None:
    make(store, invitation())
    used(store, invitation())
    store.links.offer_login("bob", "c1", now=NOW)
    assert race(*[insist(lambda: login(store))] * 3) == [True] * 3
    assert len(store.accounts.tokens("bob")) == 1


def test_a_second_login_code_replaces_the_first(store: Store) -> None:
    make(store, invitation())
    used(store, invitation())
    store.links.offer_login("bob", "c1", now=NOW)
    store.links.offer_login("bob", "c2", now=NOW)
    assert not login(store, "c1")
    assert login(store, "c2")


def test_a_login_is_over_in_time(store: Store) -> None:
    make(store, invitation())
    used(store, invitation())
    store.links.offer_login("bob", "c1", now=NOW)
    assert not login(store, now=NOW + LOGIN_LIFETIME)
    assert not store.links.offer_login("bob", "c2", now=NOW + LOGIN_LIFETIME)
    assert not store.accounts.tokens("bob")


def test_two_people_do_not_become_one_user(store: Store) -> None:
    make(store, invitation())
    used(store, invitation())
    again = invitation("i2")
    make(store, again)
    assert not used(store, again, event="e2", now=NOW + 5)

    remove_user(store, MemoryFiles(), "bob")
    assert used(store, again, event="e2", now=NOW + 5)
    store.links.offer_login("bob", "c1", now=NOW + 5)
    assert login(store, now=NOW + LOGIN_LIFETIME)


def test_of_two_logins_one_wins(store: Store) -> None:
    make(store, invitation())
    used(store, invitation())
    store.links.offer_login("bob", "c1", now=NOW)
    clients = [partial(login, store, by=name, result=f"t-{name}") for name in ("a", "b", "c")]
    assert sorted(race(*map(insist, clients))) == [False, False, True]
    assert len(store.accounts.tokens("bob")) == 1


def test_a_removed_user_cannot_log_in(store: Store) -> None:
    make(store, invitation())
    used(store, invitation())
    store.links.offer_login("bob", "c1", now=NOW)
    store.accounts.forget_tokens("bob")
    assert not login(store)
    assert not store.accounts.tokens("bob")


def test_unlinking_removes_accounts_and_home(store: Store) -> None:
    make(store, link())
    used(store, link())
    store.accounts.add_identity("ada", "chatter", "77")
    assert store.accounts.unlink("ada", "chat")
    assert not store.accounts.unlink("ada", "chat")
    assert store.accounts.user_of("chat", "77") is None
    assert store.accounts.home("ada", "chat") is None
    assert store.accounts.identities("ada", "chatter") == ["77"]
