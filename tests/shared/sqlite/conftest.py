"""A database in a new file, and its parts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from tests.support.table_backends import new_database


@pytest.fixture
def database() -> Iterator[Database]:
    with new_database() as database:
        yield database


@pytest.fixture
def path(database: Database) -> Path:
    """The file of the database, closed."""
    database.close()
    return database.path


@pytest.fixture
def tables(database: Database) -> SqliteTables:
    return SqliteTables(database)
