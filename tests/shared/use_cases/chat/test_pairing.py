"""Pairing over a webhook: who is let in, what strangers learn, and what a code leaves behind."""

import re
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.links import LIFETIME, LOGIN_LIFETIME, TRIES_PER_HOUR, LinkState, NewAccount
from shared.domain.routes import Place
from shared.domain.tokens import Scope
from shared.errors import InvalidRequest, LoginRefused, Unauthenticated, UnknownPlatform, UserExists
from shared.ports.inbound import WebhookRequest
from shared.use_cases.chat.receive_message import receive_message
from shared.use_cases.people.authenticate import Caller, authenticate
from shared.use_cases.people.links import NewLink, create_link, invite, own_links, unlink
from shared.use_cases.people.login import login
from shared.use_cases.people.tokens import issue_token, revoke_token
from tests.support.use_case_world import HOME, USER, World

GOOD = {"signature": "good"}
PHONE = "ada-phone"
CHAT = Place("chat", f"with-{PHONE}")


def caller(world: World, user: str = USER, *, expires_at: int | None = None) -> Caller:
    now = world.clock.now()
    issued = issue_token(world.store.accounts, user, now=now, scopes=frozenset(Scope), expires_at=expires_at)
    return authenticate(world.store.accounts, f"Bearer {issued.plaintext}", now=world.clock.now())


def link(world: World, user: str = USER, *, moves_home: bool = False) -> NewLink:
    return create_link(world.services, caller(world, user), "chat", moves_home=moves_home)


def invited(world: World, name: str = "bob") -> NewLink:
    return invite(world.services, caller(world), name, "chat", base_url="https://service.test")


def post(world: World, event_id: str, text: str, sender: str = PHONE) -> None:
    receive_message(world.services, "chat", WebhookRequest(f"{event_id}||{text}|{sender}".encode(), GOOD))
    world.turns()


def stored(world: World) -> Any:
    return [
        (world.store.accounts.all_identities(user), world.store.accounts.homes(user), world.store.accounts.tokens(user))
        for user in world.store.accounts.users()
    ]


@pytest.mark.parametrize("form", ["/link {}", "/start {}", "link {}", "{}"])
def test_a_code_from_an_unknown_account_links_it(world: World, form: str) -> None:
    post(world, "dm1", form.format(link(world, "eva").code))

    assert world.store.accounts.user_of("chat", PHONE) == "eva"
    assert world.store.accounts.home("eva", "chat") == CHAT
    (said,) = world.platform.said(CHAT)
    assert "eva" in said
    assert "handoffs arrive in this chat" in said
    assert "login" not in said


def test_a_home_stays_where_it_is_unless_the_person_asked(world: World) -> None:
    post(world, "dm1", link(world).code)
    assert world.store.accounts.home(USER, "chat") == HOME
    assert "/sethome" in world.platform.said(CHAT)[-1]

    post(world, "dm2", link(world, moves_home=True).code)
    assert world.store.accounts.home(USER, "chat") == CHAT
    assert "handoffs arrive in this chat" in world.platform.said(CHAT)[-1]


def told(world: World, chat: Place = HOME) -> list[str]:
    return [said for said in world.platform.said(chat) if "linked" in said]


def test_every_chat_that_a_user_had_is_told_of_a_new_account(world: World) -> None:
    post(world, "dm1", link(world).code, "first-phone")
    asking = caller(world)
    post(world, "dm2", create_link(world.services, asking, "chat").code)

    (in_home, said) = told(world)
    assert "first-phone" in in_home
    assert all(part in said for part in (PHONE, USER, f"handoff tokens revoke {asking.token.id} --unlink"))
    assert told(world, Place("chat", "with-first-phone"))[1:] == [said]
    assert PHONE not in "".join(told(world, CHAT))


def test_an_account_that_is_known_already_is_no_news(world: World) -> None:
    post(world, "dm1", link(world).code, "ada-there")
    assert told(world) == []


def test_chats_are_told_though_the_process_died_and_nothing_is_sent_again(world: World) -> None:
    body = WebhookRequest(f"dm1||{link(world).code}|{PHONE}".encode(), GOOD)
    send = world.queue.send

    def dying(*_: Any, **__: Any) -> None:
        raise RuntimeError

    world.queue.send = dying  # type: ignore[method-assign]
    with pytest.raises(RuntimeError):
        receive_message(world.services, "chat", body)
    world.queue.send = send  # type: ignore[method-assign]
    world.turns()
    assert told(world) == []

    for _ in range(2):
        world.sweep()
        world.queue.forget()
        world.turns()
    assert len(told(world)) == 1


def test_a_redelivery_tells_what_was_not_told_and_nothing_twice(world: World) -> None:
    made = link(world)
    body = WebhookRequest(f"dm1||{made.code}|{PHONE}".encode(), GOOD)
    mark = world.store.links.told
    crash = iter([RuntimeError()])

    def dying(news: NewAccount, *, now: int) -> None:
        for error in crash:
            raise error
        mark(news, now=now)

    object.__setattr__(world.store.links, "told", dying)
    with pytest.raises(RuntimeError):
        receive_message(world.services, "chat", body)
    world.turns()
    for _ in range(3):
        world.queue.forget()
        receive_message(world.services, "chat", body)
        world.sweep()
        world.turns()
    assert len(told(world)) == 1
    assert world.store.links.untold() == []


def test_unlinking_is_told_where_it_was_linked(world: World) -> None:
    post(world, "dm1", link(world).code)
    asking = caller(world)
    unlink(world.services, asking, "chat")
    unlink(world.services, asking, "chat")
    world.turns()
    for chat in (HOME, CHAT):
        (said,) = [said for said in world.platform.said(chat) if "Unlinked" in said]
        assert PHONE in said
        assert asking.token.id in said
    assert world.store.accounts.chats(USER) == []


def test_what_the_new_account_says_next_is_answered(world: World) -> None:
    post(world, "dm1", link(world, "eva").code)
    post(world, "dm2", "hello")
    assert len(world.platform.said(CHAT)) == 2


@pytest.mark.parametrize("text", ["hello", "/link", "/start", "/link ABCD-EFGH", "ABCD-EFGH", "/status"])
def test_a_stranger_without_a_valid_code_is_ignored(world: World, text: str) -> None:
    link(world)
    before = stored(world)
    post(world, "dm1", text)
    post(world, "0002", text)
    assert stored(world) == before
    assert dict(world.platform.posts) == {}
    assert world.queue.waiting == []
    assert world.store.inbox.new(CHAT, limit=5) == []


def test_a_code_is_not_stored_anywhere(world: World) -> None:
    made = link(world)
    receive_message(world.services, "chat", WebhookRequest(f"dm1||/link {made.code}|{PHONE}".encode(), GOOD))
    (row,) = world.store.inbox.new(CHAT, limit=5)
    assert row.text == "/link"
    assert made.code not in repr(world.store.links.made_by(USER))


def test_a_redelivery_after_a_crash_is_answered(world: World) -> None:
    made = link(world, "eva")
    body = WebhookRequest(f"dm1||/link {made.code}|{PHONE}".encode(), GOOD)
    put = world.store.inbox.put
    crash = iter([RuntimeError()])

    def dying(row: Any) -> bool:
        for error in crash:
            raise error
        return put(row)

    object.__setattr__(world.store.inbox, "put", dying)
    with pytest.raises(RuntimeError):
        receive_message(world.services, "chat", body)
    for _ in range(TRIES_PER_HOUR + 2):
        receive_message(world.services, "chat", body)
    world.turns()
    (said,) = world.platform.said(CHAT)
    assert "Linked" in said


def test_after_some_tries_even_the_right_code_is_ignored(world: World) -> None:
    made = link(world)
    for number in range(TRIES_PER_HOUR):
        post(world, f"dm{number}", "/link ABCD-2345")
    post(world, "dm9", f"/link {made.code}")
    assert world.store.accounts.user_of("chat", PHONE) is None
    assert world.platform.said(CHAT) == []
    post(world, "dm8", f"/link {made.code}", "another-phone")
    assert world.store.accounts.user_of("chat", "another-phone") == USER


def test_messages_without_a_code_are_not_counted(world: World) -> None:
    made = link(world)
    for number in range(20):
        post(world, f"dm{number:02}", "hello there")
    post(world, "dm99", f"/link {made.code}")
    assert world.store.accounts.user_of("chat", PHONE) == USER


def test_an_account_of_another_user_is_refused_without_telling(world: World) -> None:
    world.store.accounts.add_identity("eve", "chat", "eve-phone")
    made = link(world)
    before = stored(world)
    post(world, "dm1", f"/link {made.code}", "eve-phone")
    post(world, "dm2", "/link ABCD-2345", "eve-phone")
    right, wrong = world.platform.said(Place("chat", "with-eve-phone"))
    assert right == wrong
    assert stored(world) == before
    assert "ada" not in right


def test_a_known_account_may_type_words_like_a_code(world: World) -> None:
    world.store.accounts.add_identity(USER, "chat", PHONE)
    world.store.accounts.set_home(USER, CHAT)
    post(world, "dm1", "whatever")
    (said,) = world.platform.said(CHAT)
    assert said.startswith("reply")


@pytest.mark.parametrize("form", ["/link {}", "link {}"])
def test_a_code_shown_in_a_group_is_void(world: World, form: str) -> None:
    made = link(world)
    post(world, "0001", form.format(made.code))
    (said,) = world.platform.said(Place("chat", "home"))
    assert "made void" in said
    post(world, "dm2", f"/link {made.code}", "eve-phone")
    post(world, "dm3", f"/link {made.code}")
    assert world.store.accounts.identities(USER, "chat") == ["ada-there"]


def test_a_code_needs_a_known_platform(world: World) -> None:
    with pytest.raises(UnknownPlatform):
        create_link(world.services, caller(world), "chatter")
    assert world.store.links.made_by(USER) == []


def test_a_revoked_token_makes_no_code(world: World) -> None:
    asking = caller(world)
    world.store.accounts.forget_tokens(USER)
    with pytest.raises(Unauthenticated):
        create_link(world.services, asking, "chat")


def test_what_has_no_expiry_is_not_made_with_a_token_that_has_one(world: World) -> None:
    asking = caller(world, expires_at=world.clock.now() + 10 * LIFETIME)
    with pytest.raises(InvalidRequest, match="expires"):
        create_link(world.services, asking, "chat")
    with pytest.raises(InvalidRequest, match="expires"):
        invite(world.services, asking, "bob", "chat", base_url="https://service.test")
    assert world.store.links.made_by(USER) == []


def test_a_code_of_a_revoked_token_is_shown_as_void(world: World) -> None:
    asking = caller(world)
    create_link(world.services, asking, "chat")
    before = [link.state for link in own_links(world.services, USER)]
    revoke_token(world.store.accounts, USER, asking.token.id)

    assert (before, [link.state for link in own_links(world.services, USER)]) == ([LinkState.OPEN], [LinkState.VOID])


def login_link(world: World, person: str = PHONE) -> str:
    said = world.platform.said(Place("chat", f"with-{person}"))[-1]
    found = re.search(r"^(https://service.test/login#(\S+))$", said, re.MULTILINE)
    assert found, said
    return found[2]


def test_an_invited_person_gets_one_token(world: World) -> None:
    post(world, "dm1", f"/start {invited(world).code}")
    assert world.store.accounts.user_of("chat", PHONE) == "bob"
    code = login_link(world)

    user, issued = login(world.services, code, "the client's key")

    found = authenticate(world.store.accounts, f"Bearer {issued.plaintext}", now=world.clock.now())
    assert (user, found.user_id, found.token.allows(Scope.ADMIN)) == ("bob", "bob", False)
    assert login(world.services, code, "the client's key")[1].plaintext == issued.plaintext
    with pytest.raises(LoginRefused):
        login(world.services, code, "another key")
    assert len(world.store.accounts.tokens("bob")) == 1


@pytest.mark.parametrize("code", ["", "hl_bob.x", f"hl_bob.{'x' * 32}", f"hl_nobody.{'x' * 32}", "ho_bob.abc"])
def test_a_guessed_login_gives_nothing(world: World, code: str) -> None:
    post(world, "dm1", invited(world).code)
    with pytest.raises(LoginRefused):
        login(world.services, code, "key")
    assert world.store.accounts.tokens("bob") == []


def test_after_the_login_the_chat_gives_no_other(world: World) -> None:
    post(world, "dm1", invited(world).code)
    login(world.services, login_link(world), "key")
    post(world, "dm2", "/link")
    assert "login" not in world.platform.said(CHAT)[-1]


def test_a_login_is_never_shown_in_a_group(world: World) -> None:
    post(world, "dm1", invited(world).code)
    world.store.accounts.set_home("bob", Place("chat", "home"))
    post(world, "0002", "/link")
    assert "login" not in "".join(world.platform.said(Place("chat", "home")))


def test_who_lost_the_login_is_invited_again(world: World) -> None:
    post(world, "dm1", invited(world).code)
    world.wait(LOGIN_LIFETIME / 1000 + 1)
    post(world, "dm2", f"/link {invited(world).code}")
    assert login(world.services, login_link(world), "key")[0] == "bob"
    with pytest.raises(UserExists):
        invited(world)


def test_a_stranger_may_invite_the_bot_while_a_code_is_open(world: World) -> None:
    invite_line = WebhookRequest(f"invited||{PHONE}".encode(), GOOD)
    receive_message(world.services, "chat", invite_line)
    assert world.platform.joined == []
    link(world)
    receive_message(world.services, "chat", invite_line)
    assert world.platform.joined == [Place("chat", "home")]
    world.wait(LIFETIME / 1000)
    receive_message(world.services, "chat", invite_line)
    assert len(world.platform.joined) == 1


def test_a_platform_that_must_be_asked_is_asked_only_for_a_valid_code(world: World) -> None:
    world.platform.capabilities = replace(world.platform.capabilities, tells_private=False)
    post(world, "0001", "/link ABCD-2345")
    assert world.platform.asked == []
    made = link(world)

    def is_private(chat: Place, *, person: str) -> bool:
        return (chat, person) == (Place("chat", "home"), PHONE)

    world.platform.is_private = is_private  # type: ignore[method-assign]
    post(world, "0002", f"link {made.code}")
    assert world.store.accounts.home(USER, "chat") == Place("chat", "home")
    assert world.store.accounts.user_of("chat", PHONE) == USER
