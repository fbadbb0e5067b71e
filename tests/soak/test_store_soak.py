"""The store under load: many rounds of each race, long random walks, concurrent walks, 20 MB of random text."""

import base64
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from shared.domain.messages import digest
from shared.errors import HandoffError
from shared.store.bundle import store_on
from tests.contracts.store.model import ACTIONS, BETWEEN_NEIGHBOURS, OF_HANDOFFS, Model
from tests.contracts.store.races import RACES
from tests.contracts.store.world import NOW, World
from tests.support.table_backends import (
    INSTALLED,
    DynamoServer,
    backend_on,
    dynamo_tables,
    memory_backend,
    server,
    servers,
    sqlite_backend,
)
from tests.support.tables import fresh_tables

__all__ = ["server", "servers"]
pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]
ROUNDS = 20
WALKS = 60
WALK_STEPS = 250
THREADS = 8


@pytest.fixture
def client(server: DynamoServer) -> Any:
    return server.client


@pytest.fixture(params=["memory", "sqlite", *(INSTALLED or ["moto"])])
def model(request: pytest.FixtureRequest, servers: Callable[[str], DynamoServer]) -> Iterator[Callable[[int], Model]]:
    """Makes a model under a seed, on new tables; on moto only if there is no other DynamoDB, because it is slow."""
    with ExitStack() as stack:

        def make(seed: int) -> Model:
            backend = memory_backend()
            if request.param == "sqlite":
                backend = stack.enter_context(sqlite_backend())
            elif request.param != "memory":
                server = servers(request.param)
                backend = backend_on(server, stack.enter_context(fresh_tables(server.client)))
            return Model(store_on(backend.tables), backend.scan, random.Random(seed))  # noqa: S311  # the same on every run

        yield make


@pytest.mark.parametrize("name", RACES)
def test_every_round_of_a_race_has_one_winner(client: Any, name: str) -> None:
    for _ in range(ROUNDS):
        with fresh_tables(client) as tables:
            RACES[name](World(store_on(dynamo_tables(client, tables))))


@pytest.mark.parametrize("seed", range(WALKS))
def test_a_long_random_walk_keeps_the_invariants(model: Callable[[int], Model], seed: int) -> None:
    walk = model(1000 + seed)
    for _ in range(WALK_STEPS):
        walk.step()


@pytest.mark.parametrize("seed", range(10))
def test_concurrent_actions_keep_the_invariants(model: Callable[[int], Model], seed: int) -> None:
    """Threads act without waiting for each other; the invariants are checked when all have stopped."""
    walk = model(seed)
    for _ in range(12):
        before = walk.look()
        act_concurrently(walk)
        after = walk.look()
        walk.old_sessions += after.sessions.values()
        walk.old_handoffs += after.handoffs.values()
        walk.offers |= after.offers
        problems = list(standing_problems(walk, before, after))
        assert not problems, "\n".join(problems)


def act_concurrently(walk: Model) -> None:
    start = threading.Barrier(THREADS)
    chances = [random.Random(walk.chance.random()) for _ in range(THREADS)]  # noqa: S311  # the same on every run

    def act(chance: random.Random) -> None:
        start.wait(60)
        for _ in range(6):
            names = [name for name in ACTIONS if walk.old_handoffs or name not in OF_HANDOFFS]
            action = chance.choices(names, [ACTIONS[name][0] for name in names])[0]
            walk.now += 1
            try:
                ACTIONS[action][1](walk)
            except HandoffError:
                continue

    with ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(act, chance) for chance in chances]:
            future.result(120)


def standing_problems(walk: Model, before: Any, after: Any) -> Iterator[str]:
    """Violated invariants, of the state and between the two states."""
    for problem in walk.problems(before, after):
        if not any(text in problem for text in BETWEEN_NEIGHBOURS):
            yield problem


def test_twenty_megabytes_are_stored_unchanged(client: Any) -> None:
    chance = random.Random(7)  # noqa: S311  # the same on every run
    messages = [{"role": "user", "content": base64.b64encode(chance.randbytes(1600)).decode()} for _ in range(10_000)]
    with fresh_tables(client) as tables:
        store = store_on(dynamo_tables(client, tables))
        session = World(store).session()
        for start in range(0, len(messages), 500):
            session = store.transcripts.append(session, messages[start : start + 500], now=NOW)
        assert digest(store.transcripts.load(session.id)) == digest(messages)
        store.sessions.delete(session)
        assert list(store.transcripts.load(session.id)) == []
