"""The HTTP API in memory, fresh for each test."""

import pytest

from tests.support.memory_api import MemoryApi


@pytest.fixture
def api() -> MemoryApi:
    return MemoryApi()
