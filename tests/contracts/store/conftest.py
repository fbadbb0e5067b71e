"""The store on each database; every test of this folder runs on all of them."""

import pytest

from shared.store.bundle import Store, store_on
from tests.contracts.store.world import World
from tests.support.table_backends import Backend, backend, names, server, servers

__all__ = ["backend", "names", "server", "servers"]


@pytest.fixture
def store(backend: Backend) -> Store:
    return store_on(backend.tables)


@pytest.fixture
def world(store: Store) -> World:
    return World(store)
