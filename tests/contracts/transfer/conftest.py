"""Databases with users and sessions, and a way from one to another."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from local.console import Console
from local.transfer.commands import export_to, import_from
from shared.domain.routes import Place
from shared.domain.tokens import Scope
from shared.ports.tables import Item, Table, Tables
from shared.store.bundle import store_on
from shared.store.transfer.kinds import MOVED, kind_of
from tests.contracts.store.world import NOW, REPLY, USER, Ending, World
from tests.support.table_backends import DynamoServer, backend_on, memory_backend, servers, sqlite_backend
from tests.support.tables import fresh_tables

__all__ = ["servers"]
HASH, OTHER_HASH = "a" * 64, "b" * 64
Make = Callable[[str], Tables]


@pytest.fixture
def make(servers: Callable[[str], DynamoServer]) -> Iterator[Make]:
    """Empty tables of a kind, any number of them."""
    with ExitStack() as stack:

        def new(kind: str) -> Tables:
            if kind == "memory":
                return memory_backend().tables
            if kind == "sqlite":
                return stack.enter_context(sqlite_backend()).tables
            server = servers(kind)
            return backend_on(server, stack.enter_context(fresh_tables(server.client))).tables

        yield new


def fill(tables: Tables) -> World:
    """Two users, a session in its terminal, one in a thread with a completed handoff, one that is suspended."""
    world = World(store_on(tables))
    accounts = world.store.accounts
    accounts.add_token("ada", HASH, label="laptop", scopes=frozenset({Scope.READ}), created_at=NOW)
    accounts.add_token("bob", OTHER_HASH, expires_at=NOW + 10)
    accounts.mark_used("ada", HASH[:12], "2026-11-17")
    accounts.add_identity("ada", "telegram", "77")
    accounts.set_home("ada", Place("telegram", "1001"))
    world.session("terminal", messages=[USER, REPLY, {"role": "user", "content": "\ud83d alone, ü, 𝄞"}], title="Trip")
    large = [{"role": "user", "content": f"{number:06} " * 10_000} for number in range(120)]
    world.session("large", messages=large, uploaded_bytes=8_400_000)
    done = world.ended(Ending.COMPLETED, world.session("thread", messages=[USER]))
    deliver(world, done.session_id, done.kickoff_turn)
    world.session("suspended", suspended=True, user_id="bob")
    row = world.row()
    world.store.inbox.close([row], by="thread/t")
    return world


def deliver(world: World, session_id: str, turn_id: str) -> None:
    for part in world.store.outbox.journal(session_id, turn_id):
        sending = world.store.outbox.sending(part, now=world.now, until=world.now + 1)
        assert sending
        world.store.outbox.sent(sending, "m-1")


def lasting(tables: Tables) -> list[Item]:
    """All items that move, in order."""
    items = [(table, item) for table in Table for item in tables.scan(table) if kind_of(table, item) in MOVED]
    return [item for table, item in sorted(items, key=lambda each: (each[0].name, *each[0].key_of(each[1]).values()))]


def move(source: Tables, target: Tables, path: Path) -> None:
    console = Console(is_json=True)
    assert export_to(source, path, console, now=NOW) == 0
    assert import_from(target, path, console, yes=True) == 0
