"""The `Tables` port on each database; every test of this folder runs on all of them."""

import pytest

from shared.ports.tables import Tables
from tests.support.table_backends import Backend, backend, servers

__all__ = ["backend", "servers"]


@pytest.fixture
def tables(backend: Backend) -> Tables:
    return backend.tables
