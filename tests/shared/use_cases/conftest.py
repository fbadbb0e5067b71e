"""The world of the use cases, fresh for each test, with its store in memory."""

import pytest

from shared.store.bundle import Store, store_on
from tests.support.memory_tables import MemoryTables
from tests.support.use_case_world import World


@pytest.fixture
def store() -> Store:
    return store_on(MemoryTables())


@pytest.fixture
def world(store: Store) -> World:
    return World(store)
