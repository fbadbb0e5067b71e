"""Removing a user: nothing of theirs is left but what docs/data.md names."""

from collections.abc import Iterator
from typing import Any

import pytest

from shared.domain.routes import Place
from shared.errors import UnknownUser
from shared.ports.tables import Item, Table
from shared.store.bundle import store_on
from shared.store.inbox import InboxRow
from shared.use_cases.people.remove_user import remove_user
from shared.use_cases.sessions.move_to_chat import move_to_chat
from shared.use_cases.turns.accept_turn import accept_turn
from tests.support.machine import Machine, post
from tests.support.memory_files import MemoryFiles
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import HOME, USER, World

BEFORE_TOKENS = 1
"""Deletions before that of the tokens: of a login, which could make one."""
GROUP = Place("chat", "a-group")
BYSTANDER = Place("chat", "not-theirs")


class Stopped(Exception):
    """The process dies here."""


class Dying(MemoryTables):
    """Dies before the deletion with this number."""

    left: int | None = None

    def _count(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Stopped

    def delete_all(self, table: Table, keys: Any) -> None:
        self._count()
        super().delete_all(table, keys)

    def _write(self, writes: Any) -> list[Item | None]:
        self._count()
        return super()._write(writes)


@pytest.fixture
def tables() -> Dying:
    return Dying()


@pytest.fixture
def world(tables: Dying) -> World:
    """A user with something of everything, and another user beside."""
    world = World(store_on(tables))
    accounts = world.store.accounts
    for user in (USER, "bert"):
        accounts.add_token(user, f"{user}-hash", label="laptop", created_at=1)
        accounts.mark_used(user, f"{user}-hash"[:12], "2026-01-31")
    accounts.add_identity("bert", "chat", "bert-there")
    accounts.set_home("bert", BYSTANDER)
    session, place = world.moved("s-1")
    world.say(place, "and now?", "e-1")
    world.say(HOME, "/resume", "e-2")
    world.turns()
    move_to_chat(world.services, USER, session.id, GROUP)
    world.say(GROUP, "here I am", "e-3")
    world.say(place, "is it still here?", "e-4")
    world.turns()
    world.session("s-2")
    world.ask("s-2", key="open")
    world.session("s-3")
    accept_turn(world.services, USER, "s-3", epoch=0, turn_id="t-1", text="running")
    world.say(HOME, "not answered yet", "e-5")
    return world


def _everything(tables: MemoryTables) -> Iterator[Item]:
    for table in Table:
        yield from tables.scan(table)


def _of_the_user(tables: MemoryTables) -> list[Item]:
    words = (USER, "Parser", "s-1", "s-2", "s-3", "ada-there", HOME.route, GROUP.route)
    return [item for item in _everything(tables) if any(word in repr(item) for word in words)]


def test_nothing_is_left_of_a_removed_user(world: World, tables: Dying) -> None:
    assert len(_of_the_user(tables)) > 20

    remove_user(world.store, MemoryFiles(), USER)

    assert _of_the_user(tables) == []
    assert [item for item in _everything(tables) if "bert" not in repr(item)] == []
    assert world.store.accounts.users() == ["bert"]
    assert world.store.accounts.home("bert", "chat") == BYSTANDER
    assert world.store.accounts.user_of("chat", "bert-there") == "bert"


def test_nothing_is_left_of_a_users_machine(tables: Dying) -> None:
    """It works on words in a thread, has shown what it does and asked something, and more words wait for it."""
    world = World(store_on(tables))
    machine = Machine(world)
    place = machine.moved()
    post(world, place, "0001", "And?")
    machine.start()
    machine.report(said="I look at it.")
    machine.ask()
    post(world, place, "0002", "Also this.")
    stored = " ".join(item["pk"] + item["sk"] for item in tables.scan(Table.SESSIONS))
    assert all(kind in stored for kind in ("TURN#", "RUNNER#", "Q#", "RT#", "OUT#progress-"))

    remove_user(world.store, MemoryFiles(), USER)

    assert list(_everything(tables)) == []


def test_rows_in_other_chats_stay_without_words(world: World, tables: Dying) -> None:
    row = InboxRow(BYSTANDER, "e-9", "ada-there", "hello all", world.clock.now(), USER)
    world.store.inbox.put(row)
    world.store.inbox.close([row], by="ignored")

    remove_user(world.store, MemoryFiles(), USER)

    (left,) = _of_the_user(tables)
    assert set(left) == {"pk", "sk", "sender", "user", "received_at", "status", "done_by", "expires_at", "v"}


def test_an_interrupted_removal_can_be_repeated(world: World, tables: Dying) -> None:
    for number in range(100):
        tables.left = number
        try:
            remove_user(world.store, MemoryFiles(), USER)
        except Stopped:
            assert number <= BEFORE_TOKENS or world.store.accounts.tokens(USER) == []
            continue
        break
    tables.left = None
    assert number > 5
    assert _of_the_user(tables) == []
    with pytest.raises(UnknownUser):
        remove_user(world.store, MemoryFiles(), USER)


def test_work_under_way_leaves_nothing_behind(world: World, tables: Dying) -> None:
    remove_user(world.store, MemoryFiles(), USER)
    world.turns()
    world.wait(3600)
    world.sweep()
    assert _of_the_user(tables) == []


def test_a_session_that_appears_late_is_found_by_a_repeat(world: World, tables: Dying) -> None:
    remove_user(world.store, MemoryFiles(), USER)
    world.session("s-1")

    remove_user(world.store, MemoryFiles(), USER)

    assert _of_the_user(tables) == []


def test_an_unknown_user_is_not_removed(world: World) -> None:
    with pytest.raises(UnknownUser, match="eve"):
        remove_user(world.store, MemoryFiles(), "eve")


def test_a_key_of_the_directory_is_no_prefix(world: World) -> None:
    world.store.accounts.add_token("ad", "ad-hash")
    remove_user(world.store, MemoryFiles(), "ad")
    assert [token.last_used for token in world.store.accounts.tokens(USER)] == ["2026-01-31"]
