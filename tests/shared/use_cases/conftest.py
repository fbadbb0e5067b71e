"""The world of the use cases, fresh for each test."""

import pytest

from shared.ports.store import Store
from tests.support.use_case_world import World


@pytest.fixture
def world(store: Store) -> World:
    return World(store)
