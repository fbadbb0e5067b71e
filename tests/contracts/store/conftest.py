"""The store on each database; every test of this folder runs on all of them."""

from collections.abc import Callable, Iterator

import pytest

from shared.store.bundle import Store, store_on
from tests.contracts.store.world import World
from tests.support.table_backends import (
    STORE_DATABASES,
    Backend,
    DynamoServer,
    names,
    requested_backend,
    server,
    servers,
)

__all__ = ["names", "server", "servers"]


@pytest.fixture(params=STORE_DATABASES)
def backend(request: pytest.FixtureRequest, servers: Callable[[str], DynamoServer]) -> Iterator[Backend]:
    """Each database with two empty tables."""
    yield from requested_backend(request, servers)


@pytest.fixture
def store(backend: Backend) -> Store:
    return store_on(backend.tables)


@pytest.fixture
def world(store: Store) -> World:
    return World(store)
