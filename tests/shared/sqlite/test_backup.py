"""Backups and their way back: consistent while others write, complete or not there, and nothing is overwritten unasked."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from shared.errors import DataFileCorrupt, DataFileForeign, DataFileNewer, DataFileUnavailable
from shared.ports.tables import Put, Table, Update
from shared.sqlite.backup import back_up, opened, problems_in, restore
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from tests.support.sqlite_integrity import damage_in


def handoffs_in(path: Path) -> list[str]:
    database = Database(path)
    try:
        return [str(item["handoff_id"]) for item in SqliteTables(database).scan(Table.HANDOFFS)]
    finally:
        database.close()


def put(database: Database, name: str, **values: object) -> None:
    SqliteTables(database).put(Put(Table.HANDOFFS, {"handoff_id": name, **values}))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "backup.db"


def test_a_backup_of_an_open_file_has_everything_that_is_committed(database: Database, target: Path) -> None:
    put(database, "a")
    back_up(database.path, target)
    put(database, "b")

    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in target.parent.iterdir()] == ["backup.db"]
    assert handoffs_in(target) == ["a"]


def test_a_backup_is_of_one_moment_while_others_write(database: Database, target: Path) -> None:
    """Both items change in one transaction; a copy page by page would see one without the other."""
    for number in range(300):
        put(database, f"filler-{number}", data=bytes(20_000))
    tables, moments, stop = SqliteTables(database), [0], threading.Event()
    first, last = {"handoff_id": "a"}, {"handoff_id": "z"}

    def write() -> None:
        while not stop.is_set():
            moments[0] += 1
            tables.transact([Update(Table.HANDOFFS, key, [], set={"n": moments[0]}) for key in (first, last)])

    writer = threading.Thread(target=write)
    steps: list[float] = []
    writer.start()
    try:
        back_up(database.path, target, progress=steps.append)
    finally:
        stop.set()
        writer.join()

    assert len(steps) > 1
    assert steps == sorted(steps)
    copied = Database(target)
    found = [(SqliteTables(copied).get(Table.HANDOFFS, key) or {}).get("n") for key in (first, last)]
    assert found[0] == found[1]
    assert damage_in(copied) == []
    copied.close()


def test_an_existing_file_is_replaced_only_if_asked(database: Database, target: Path) -> None:
    target.write_text("precious")
    with pytest.raises(FileExistsError):
        back_up(database.path, target)
    assert target.read_text() == "precious"

    put(database, "a")
    back_up(database.path, target, replace=True)
    assert handoffs_in(target) == ["a"]


def test_a_backup_that_fails_leaves_the_target_as_it_was(database: Database, target: Path) -> None:
    target.write_text("precious")

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        back_up(database.path, target, replace=True, progress=interrupt)
    assert [path.name for path in target.parent.iterdir()] == ["backup.db"]
    assert target.read_text() == "precious"


def test_without_a_directory_the_reason_is_told(database: Database, tmp_path: Path) -> None:
    with pytest.raises(DataFileUnavailable, match="No such file or directory"):
        back_up(database.path, tmp_path / "missing" / "backup.db")


def test_a_backup_is_restored_and_the_current_file_is_kept(path: Path, target: Path) -> None:
    database = Database(path)
    put(database, "a")
    back_up(path, target)
    put(database, "b")
    database.close()

    kept = restore(target, path)

    assert kept == path.with_name("handoff.db.replaced")
    assert handoffs_in(path) == ["a"]
    assert handoffs_in(kept) == ["a", "b"]
    assert {each.name for each in path.parent.iterdir()} == {"handoff.db", "handoff.db.replaced"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert restore(target, path) == path.with_name("handoff.db.replaced.2")


def test_a_log_that_a_crash_left_stays_with_its_file(path: Path, target: Path) -> None:
    """The log of the replaced file must never be read as that of the new one."""
    database = Database(path)
    back_up(path, target)
    put(database, "b")
    log = path.with_name("handoff.db-wal").read_bytes()
    database.close()
    path.with_name("handoff.db-wal").write_bytes(log)

    kept = restore(target, path)

    assert kept
    assert handoffs_in(path) == []
    assert handoffs_in(kept) == ["b"]


def test_a_damaged_file_is_kept_with_its_log(path: Path, target: Path) -> None:
    back_up(path, target)
    path.write_bytes(b"no database" * 1000)
    path.with_name("handoff.db-wal").write_bytes(b"a log")

    kept = restore(target, path)

    assert kept
    assert kept.read_bytes().startswith(b"no database")
    assert handoffs_in(path) == []
    assert not path.with_name("handoff.db-wal").exists()


def test_where_nothing_was_a_backup_is_restored_too(path: Path, target: Path, tmp_path: Path) -> None:
    back_up(path, target)
    assert restore(target, tmp_path / "handoff.db") is None
    assert handoffs_in(tmp_path / "handoff.db") == []


@pytest.mark.parametrize("kind", ["foreign", "empty", "newer", "text", "cut", "missing"])
def test_what_is_no_readable_backup_is_refused(path: Path, target: Path, kind: str) -> None:
    database = Database(path)
    put(database, "a", data=bytes(100_000))
    database.close()
    back_up(path, target)
    match kind:
        case "missing":
            target.unlink()
        case "empty":
            target.write_bytes(b"")
        case "text":
            target.write_text("hello " * 1000)
        case "cut":
            target.write_bytes(target.read_bytes()[:40_000])
        case "newer" | "foreign":
            with closing(sqlite3.connect(target)) as connection:
                name = "user_version" if kind == "newer" else "application_id"
                connection.execute(f"PRAGMA {name} = 99")
    before = path.read_bytes()

    expected = {
        "foreign": DataFileForeign,
        "empty": DataFileForeign,
        "newer": DataFileNewer,
        "text": DataFileCorrupt,
        "cut": DataFileCorrupt,
        "missing": DataFileUnavailable,
    }
    with pytest.raises(expected[kind]):
        restore(target, path)

    assert path.read_bytes() == before
    assert {each.name for each in path.parent.iterdir()} == {"handoff.db"}


def test_a_damaged_page_is_found(path: Path) -> None:
    database = Database(path)
    for number in range(100):
        put(database, str(number), data="x" * 1000)
    database.close()
    with opened(path) as connection:
        assert problems_in(connection) == []
    content = bytearray(path.read_bytes())
    content[-8192:] = bytes(8192)
    path.write_bytes(content)
    with opened(path) as connection:
        assert problems_in(connection) != []
