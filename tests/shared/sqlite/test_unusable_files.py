"""A full disk, a file that is read-only, locked, damaged, foreign or gone: a clear error, and nothing is lost."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from shared.errors import (
    DataFileCorrupt,
    DataFileError,
    DataFileForeign,
    DataFileLocked,
    DataFileUnavailable,
    DiskFull,
)
from shared.ports.tables import Put, Table
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from tests.support.sqlite_integrity import damage_in

MOST_WRITES = 2000
PRELUDE = """
import os, resource, sys
from pathlib import Path
from shared.errors import DataFileReadOnly
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from tests.shared.sqlite.test_unusable_files import fill, stored

directory = Path(sys.argv[1])
if os.geteuid() == 0:
    nobody = 65_534
    os.chown(directory, nobody, nobody)
    os.setgroups([])
    os.setgid(nobody)
    os.setuid(nobody)
"""
EXCEED_THE_LIMIT = """
tables = SqliteTables(Database(directory / "handoff.db"))
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
written = fill(tables)
assert stored(tables) == written
(directory / "written").write_text(str(written))
"""
OPEN_READ_ONLY = """
path, what = directory / "handoff.db", sys.argv[2]
if what != "new file":
    Database(path).close()
path.chmod(0o400) if what == "file" else directory.chmod(0o555)
try:
    Database(path)
except DataFileReadOnly as error:
    assert "read-only for this user" in str(error)
else:
    raise AssertionError("it was opened")
"""


def fill(tables: SqliteTables) -> int:
    """Write until it fails; returns how many writes succeeded."""
    for number in range(MOST_WRITES):
        try:
            tables.put(Put(Table.SESSIONS, {"pk": "p", "sk": f"{number:04}", "text": "x" * 1000}))
        except DataFileError:
            return number
    raise AssertionError("every write succeeded")


def stored(tables: SqliteTables) -> int:
    return sum(1 for _ in tables.scan(Table.SESSIONS))


@pytest.fixture
def shared_directory() -> Iterator[Path]:
    """A directory that any user may use; pytest's are closed to others."""
    with TemporaryDirectory(prefix="handoff-") as directory:
        path = Path(directory)
        path.chmod(0o777)  # for the user of the child process
        yield path


def in_child(program: str, *arguments: object) -> None:
    """Run a program in another process without root's rights. Raises if it fails."""
    command = [sys.executable, "-c", PRELUDE + program, *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_full_disk_undoes_the_write_and_keeps_the_others(database: Database, tables: SqliteTables) -> None:
    database._writer.execute("PRAGMA max_page_count = 60")
    written = fill(tables)
    assert stored(tables) == written > 0
    with pytest.raises(DiskFull, match="The disk is full"):
        tables.put(Put(Table.SESSIONS, {"pk": "p", "sk": "more", "text": "x" * 10_000}))

    database._writer.execute("PRAGMA max_page_count = 100000")
    tables.put(Put(Table.SESSIONS, {"pk": "p", "sk": "more", "text": "x" * 10_000}))
    assert stored(tables) == written + 1
    assert damage_in(database) == []


def test_a_refused_write_of_the_system_keeps_what_is_stored(shared_directory: Path) -> None:
    in_child(EXCEED_THE_LIMIT, shared_directory)
    database = Database(shared_directory / "handoff.db")
    assert stored(SqliteTables(database)) == int((shared_directory / "written").read_text()) > 0
    assert damage_in(database) == []
    database.close()


@pytest.mark.parametrize("what", ["file", "directory", "new file"])
def test_a_read_only_file_is_refused_when_it_is_opened(shared_directory: Path, what: str) -> None:
    in_child(OPEN_READ_ONLY, shared_directory, what)


def test_a_locked_file_is_reported_after_a_while(path: Path) -> None:
    database = Database(path, patience=0.05)
    tables = SqliteTables(database)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DataFileLocked, match="Stop the other process"):
            tables.put(Put(Table.HANDOFFS, {"handoff_id": "h"}))
        assert tables.get(Table.HANDOFFS, {"handoff_id": "h"}) is None, "reads go on"
        with pytest.raises(DataFileLocked):
            Database(path, patience=0.05)
        other.execute("ROLLBACK")
    tables.put(Put(Table.HANDOFFS, {"handoff_id": "h"}))
    database.close()


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "handoff.db"
    path.write_bytes(b"not a database\n" * 1000)
    with pytest.raises(DataFileCorrupt, match="restore the last backup"):
        Database(path)
    assert path.read_bytes() == b"not a database\n" * 1000
    assert [each.name for each in tmp_path.iterdir()] == ["handoff.db"]


def test_damaged_pages_are_found(path: Path) -> None:
    database = Database(path)
    for number in range(200):
        SqliteTables(database).put(Put(Table.SESSIONS, {"pk": "p", "sk": f"{number:04}", "text": "x" * 1000}))
    database.close()
    content = bytearray(path.read_bytes())
    content[3 * 4096 :] = b"\xa5" * (len(content) - 3 * 4096)
    path.write_bytes(content)

    damaged = Database(path)
    with pytest.raises(DataFileCorrupt):
        stored(SqliteTables(damaged))
    assert damage_in(damaged) != []
    damaged.close()


def test_the_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "handoff.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (a)")
    before = path.read_bytes()
    with pytest.raises(DataFileForeign, match="another program"):
        Database(path)
    assert path.read_bytes() == before


def test_a_file_that_was_removed_is_not_created_anew(path: Path) -> None:
    database = Database(path)
    path.unlink()
    with pytest.raises(DataFileUnavailable):
        SqliteTables(database).get(Table.HANDOFFS, {"handoff_id": "h"})
    assert not path.exists()
    database.close()


@pytest.mark.parametrize("name", ["missing/handoff.db", "directory"])
def test_a_path_that_cannot_be_a_file_is_reported(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "directory"
    directory.mkdir()
    directory.chmod(0o755)  # whatever the umask is
    with pytest.raises(DataFileUnavailable, match="Check that its directory exists"):
        Database(tmp_path / name)
    assert directory.stat().st_mode & 0o777 == 0o755
