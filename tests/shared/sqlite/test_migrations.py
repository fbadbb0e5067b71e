"""A file of an older version is migrated, and a copy is kept; one of a newer version is left as it is."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from shared.errors import DataFileNewer
from shared.ports.tables import Put, Table
from shared.sqlite.database import Database
from shared.sqlite.schema import MIGRATIONS
from shared.sqlite.tables import SqliteTables

KEY = {"handoff_id": "h"}
NEXT = [*MIGRATIONS, ("ALTER TABLE secrets ADD COLUMN note TEXT", "CREATE TABLE added (a)")]
BROKEN = [*MIGRATIONS, ("CREATE TABLE added (a)", "CREATE TABLE handoffs (a)")]


@pytest.fixture
def older(path: Path) -> Path:
    """A file of this version with an item in it."""
    database = Database(path)
    SqliteTables(database).put(Put(Table.HANDOFFS, KEY))
    database.close()
    return path


def tables_in(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def files(path: Path) -> set[str]:
    return {each.name for each in path.parent.iterdir()}


def test_an_older_file_is_migrated_and_kept(older: Path) -> None:
    database = Database(older, migrations=NEXT)
    assert SqliteTables(database).get(Table.HANDOFFS, KEY) == KEY
    database.close()

    assert "added" in tables_in(older)
    assert version_of(older) == len(NEXT)
    kept = older.with_name("handoff.db.v1")
    assert files(older) == {"handoff.db", "handoff.db.v1"}
    assert kept.stat().st_mode & 0o777 == 0o600
    copied = Database(kept)
    assert SqliteTables(copied).get(Table.HANDOFFS, KEY) == KEY
    copied.close()


def test_a_copy_that_was_kept_before_stays(older: Path) -> None:
    older.with_name("handoff.db.v1").write_text("an earlier one")
    Database(older, migrations=NEXT).close()
    assert older.with_name("handoff.db.v1").read_text() == "an earlier one"
    assert version_of(older.with_name("handoff.db.v1.2")) == 1


def test_a_file_of_this_version_is_not_copied(older: Path) -> None:
    Database(older).close()
    assert files(older) == {"handoff.db"}


def test_a_migration_that_fails_changes_nothing(older: Path) -> None:
    before = tables_in(older)
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        Database(older, migrations=BROKEN)
    assert tables_in(older) == before
    database = Database(older)
    assert SqliteTables(database).get(Table.HANDOFFS, KEY) == KEY
    database.close()


def test_a_newer_file_is_left_as_it_is(older: Path) -> None:
    Database(older, migrations=NEXT).close()
    before = older.read_bytes()
    with pytest.raises(DataFileNewer, match=r"format 2, this one knows 1.*Install that version again"):
        Database(older)
    assert older.read_bytes() == before
