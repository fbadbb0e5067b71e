"""One file: who may read it, what a reader and a writer see, the moment from which everything is on the disk, copies."""

import os
import sqlite3
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from shared.errors import DataFileLocked, DataFileUnflushed
from shared.ports.tables import Put, Table, Update
from shared.sqlite import database as databases
from shared.sqlite.backup import back_up
from shared.sqlite.database import READERS, Database
from shared.sqlite.secrets import SqliteSecrets
from shared.sqlite.tables import SqliteTables
from tests.support.sqlite_integrity import damage_in

WAIT_SECONDS = 20.0
KEY = {"handoff_id": "h"}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_only_the_user_can_read_the_files(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        database = Database(tmp_path / "handoff.db")
        SqliteSecrets(database).set("telegram/bot_token", "123:abc")
        back_up(database.path, tmp_path / "copy.db")
    finally:
        os.umask(before)
    names = {"handoff.db", "handoff.db-wal", "handoff.db-shm", "copy.db"}
    assert {path.name: mode(path) for path in tmp_path.iterdir()} == dict.fromkeys(names, 0o600)
    database.close()


def test_a_file_that_others_could_read_is_closed_to_them(path: Path) -> None:
    path.chmod(0o644)
    Database(path).close()
    assert mode(path) == 0o600


def test_a_reader_sees_only_what_is_committed(database: Database, tables: SqliteTables) -> None:
    with database.writing() as connection:
        connection.execute("INSERT INTO handoffs (handoff_id, plain) VALUES ('h', '{}')")
        assert tables.get(Table.HANDOFFS, KEY) is None
    assert tables.get(Table.HANDOFFS, KEY) == KEY


def test_an_error_undoes_the_transaction(database: Database, tables: SqliteTables) -> None:
    def fail_halfway() -> None:
        with database.writing() as connection:
            connection.execute("INSERT INTO handoffs (handoff_id, plain) VALUES ('h', '{}')")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_halfway()
    assert tables.get(Table.HANDOFFS, KEY) is None
    tables.put(Put(Table.HANDOFFS, KEY))


def test_threads_count_together(tables: SqliteTables) -> None:
    def add(_: int) -> None:
        tables.update(Update(Table.HANDOFFS, KEY, [], add={"n": 1}))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(add, range(400)))
    assert tables.get(Table.HANDOFFS, KEY) == {**KEY, "n": 400}


def test_many_readers_at_once_leave_few_connections(database: Database) -> None:
    together = threading.Barrier(READERS + 4)

    def read(_: int) -> None:
        with database.reading() as connection:
            together.wait(WAIT_SECONDS)
            connection.execute("SELECT 1").fetchone()

    with ThreadPoolExecutor(together.parties) as pool:
        list(pool.map(read, range(together.parties)))
    assert len(database._readers) <= READERS


class Disk:
    """Counts what is flushed, and can be slow."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.flushes = 0
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()
        monkeypatch.setattr(databases, "_flush", self._flush)

    def _flush(self, descriptor: int) -> None:
        assert os.fstat(descriptor).st_size > 0
        self.flushes += 1
        self.begun.set()
        assert self.may_end.wait(WAIT_SECONDS)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_only_new_commits_are_flushed(database: Database, tables: SqliteTables, disk: Disk) -> None:
    database.sync()
    assert disk.flushes == 0
    tables.put(Put(Table.HANDOFFS, KEY))
    tables.put(Put(Table.HANDOFFS, KEY))
    database.sync()
    database.sync()
    assert disk.flushes == 1


def test_a_secret_is_flushed_when_it_is_set(database: Database, disk: Disk) -> None:
    secrets = SqliteSecrets(database)
    secrets.set("a/key", "1")
    secrets.set("b/key", "2")
    secrets.set("a/key", None)
    assert disk.flushes == 3
    assert (secrets.names(), secrets.get("a/key")) == (["b/key"], None)


def test_callers_that_wait_share_one_flush(database: Database, tables: SqliteTables, disk: Disk) -> None:
    """The first flush may have begun before their commits, so they need a second one, and only that."""
    disk.may_end.clear()
    with ThreadPoolExecutor(9) as pool:
        tables.put(Put(Table.HANDOFFS, KEY))
        first = pool.submit(database.sync)
        assert disk.begun.wait(WAIT_SECONDS)
        tables.put(Put(Table.HANDOFFS, KEY))
        others = [pool.submit(database.sync) for _ in range(8)]
        assert not any(other.done() for other in others)
        disk.may_end.set()
        for future in (first, *others):
            future.result(WAIT_SECONDS)
    assert disk.flushes == 2


def test_a_failed_flush_is_not_taken_for_one(
    database: Database, tables: SqliteTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: int) -> None:
        raise OSError(28, "No space left on device")

    tables.put(Put(Table.HANDOFFS, KEY))
    with monkeypatch.context() as patch:
        patch.setattr(databases, "_flush", broken)
        with pytest.raises(DataFileUnflushed, match="restart the service"):
            database.sync()
    tables.put(Put(Table.HANDOFFS, KEY))
    with pytest.raises(DataFileUnflushed):
        database.sync()
    Database(database.path).sync()


def test_threads_behind_a_writer_that_waits_for_another_process_wait_no_longer(path: Path) -> None:
    database = Database(path, patience=0.2)
    tables = SqliteTables(database)

    def put(_: int) -> float:
        began = time.monotonic()
        with pytest.raises(DataFileLocked):
            tables.put(Put(Table.HANDOFFS, KEY))
        return time.monotonic() - began

    with closing(sqlite3.connect(path, isolation_level=None)) as other, ThreadPoolExecutor(16) as pool:
        other.execute("BEGIN IMMEDIATE")
        assert max(pool.map(put, range(16))) < 16 * 0.2 / 2
        other.execute("ROLLBACK")
    tables.put(Put(Table.HANDOFFS, KEY))
    database.close()


@pytest.mark.parametrize("damage", ["cut", "zeros"])
def test_a_log_that_lost_its_end_loses_only_the_last_commits(
    database: Database, tables: SqliteTables, tmp_path: Path, damage: str
) -> None:
    """As after a power cut: what was not flushed is missing, or its blocks are empty."""
    commits = 8
    for number in range(commits):
        row = {"pk": "p", "sk": str(number), "data": bytes(9000)}
        tables.transact([Update(Table.HANDOFFS, KEY, [], add={"n": 1}), Put(Table.SESSIONS, row)])
    stored, log = database.path.read_bytes(), Path(f"{database.path}-wal").read_bytes()
    seen = []
    for end in (*range(0, len(log), 5000), len(log)):
        path = tmp_path / str(end) / "handoff.db"
        path.parent.mkdir()
        path.write_bytes(stored)
        Path(f"{path}-wal").write_bytes(log[:end] if damage == "cut" else log[:end].ljust(len(log), b"\0"))
        seen.append(_whole_commits(path))
    assert seen == sorted(seen)
    assert {0, commits // 2, commits} <= set(seen)


def _whole_commits(path: Path) -> int:
    """How many of the commits are there. Each is whole."""
    database = Database(path)
    tables = SqliteTables(database)
    rows = [item["sk"] for item in tables.query("p", low=" ", high="~")]
    counted = (tables.get(Table.HANDOFFS, KEY) or {"n": 0})["n"]
    assert rows == [str(number) for number in range(counted)]
    assert damage_in(database) == []
    database.close()
    return len(rows)
