"""Schema of the file: each version of the format as the statements that lead to it."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from shared.errors import DataFileForeign, DataFileNewer

APPLICATION = 0x48414E44
"""`HAND` in the file's header, so that another program's database is not taken for ours."""
Migration = Sequence[str]
Progress = Callable[[float], None]
"""Called now and then with the part that is done, from 0 to 1."""
_PAUSE = 0.01
_STEP = 1000
"""Pages that are copied between two reports of progress: 4 MB."""


def _table(name: str, columns: str, key: str) -> Migration:
    """An item is JSON beside its key, its bytes and copies of the attributes that indexes need.

    The columns of each index are those that a page of it returns, so that no row is read.
    """
    by_user, due = "user_id IS NOT NULL AND created_at IS NOT NULL", "due_shard IS NOT NULL AND due_at IS NOT NULL"
    return (
        f"""CREATE TABLE {name} (
            {columns}, plain TEXT NOT NULL, bytes BLOB,
            user_id TEXT, created_at INTEGER, due_shard INTEGER, due_at INTEGER,
            expires_at INTEGER, held_until INTEGER, PRIMARY KEY ({key}))""",
        f"CREATE INDEX {name}_by_user ON {name} (user_id, created_at, {key}) WHERE {by_user}",
        f"CREATE INDEX {name}_due ON {name} (due_shard, due_at, {key}) WHERE {due}",
        f"CREATE INDEX {name}_expiring ON {name} (expires_at) WHERE expires_at IS NOT NULL",
        f"CREATE INDEX {name}_held ON {name} (held_until) WHERE held_until IS NOT NULL",
    )


_FIRST: Migration = (
    *_table("handoffs", "handoff_id TEXT NOT NULL", "handoff_id"),
    *_table("sessions", "pk TEXT NOT NULL, sk TEXT NOT NULL", "pk, sk"),
    # `ready_at` is NULL while a message waits behind another one of its line.
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, line TEXT, body TEXT NOT NULL,
        sent_at INTEGER NOT NULL, ready_at INTEGER, receives INTEGER NOT NULL DEFAULT 0)""",
    "CREATE INDEX messages_ready ON messages (queue, ready_at) WHERE ready_at IS NOT NULL",
    "CREATE INDEX messages_in_line ON messages (queue, line) WHERE line IS NOT NULL",
    """CREATE TABLE dedupes (
        queue TEXT NOT NULL, line TEXT NOT NULL, dedupe TEXT NOT NULL, until INTEGER NOT NULL,
        PRIMARY KEY (queue, line, dedupe)) WITHOUT ROWID""",
    "CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)
MIGRATIONS: Sequence[Migration] = (_FIRST,)
"""Append only. A file of version N has had the first N of them."""


def migrate(
    writer: sqlite3.Connection, path: Path, *, patience: float, migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring the file to the newest version, in one transaction. A file with data is copied first.

    Raises DataFileNewer or DataFileForeign and leaves the file as it is.
    """
    with transaction(writer, "BEGIN"):
        version_of(writer, path, len(migrations))
    _use_write_ahead_log(writer, patience)  # not possible inside a transaction
    with transaction(writer):
        version = version_of(writer, path, len(migrations))  # again: another process may have migrated it just now
        if 0 < version < len(migrations):
            _keep_copy(path, version)
        for migration in migrations[version:]:
            for statement in migration:
                writer.execute(statement)
        writer.execute(f"PRAGMA application_id = {APPLICATION}")
        writer.execute(f"PRAGMA user_version = {len(migrations)}")  # always: so a read-only file is found out now


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Committed when the block ends, undone if it raises."""
    try:
        connection.execute(begin)
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:  # SQLite has undone it already if the disk is full
            connection.execute("ROLLBACK")


def copy(source: sqlite3.Connection, target: Path, progress: Progress = lambda _: None) -> None:
    """Copy the database as it is now to a new file that only this user can read, and wait until the disk has it.

    Raises FileExistsError. Others may write in the meantime: the copy is of one moment.
    """

    def report(_: int, left: int, pages: int) -> None:
        progress(1 - left / max(1, pages))

    os.close(_new_file(target))
    try:
        # The transaction keeps the moment: without it, each write of another process would begin the copy again.
        with closing(sqlite3.connect(target)) as connection, transaction(source, "BEGIN"):
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
            source.backup(connection, pages=_STEP, progress=report)
    except BaseException:
        with suppress(OSError):
            target.unlink()
        raise
    sync_directory(target.parent)


def create(path: Path) -> None:
    """Create an empty file for this user only, whatever the umask is. One that exists is not opened.

    Closing a second descriptor of a database would release the locks that SQLite holds in this process.
    """
    with suppress(FileExistsError):
        os.close(_new_file(path))
        sync_directory(path.parent)


def restrict(path: Path) -> None:
    """Close a file to other users that was copied or restored with another mode."""
    if path.stat().st_mode & 0o077:
        with suppress(PermissionError):
            path.chmod(0o600)


def sync_directory(directory: Path) -> None:
    """A new file is safe when its directory is, too."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _new_file(path: Path) -> int:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    with suppress(PermissionError):  # a file system without modes, as on most sticks
        os.fchmod(descriptor, 0o600)
    return descriptor


def _use_write_ahead_log(connection: sqlite3.Connection, patience: float) -> None:
    """SQLite waits for other processes everywhere but here."""
    deadline = time.monotonic() + patience
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)


def version_of(connection: sqlite3.Connection, path: Path, known: int = len(MIGRATIONS)) -> int:
    """The version of the format, 0 for an empty file. Raises DataFileForeign, DataFileNewer.

    Call it inside a transaction, so that all of it is of one moment.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (names,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION and (application or version or names):
        raise DataFileForeign(str(path))
    if version > known:
        raise DataFileNewer(str(path), version, known)
    return int(version)


def _keep_copy(path: Path, version: int) -> None:
    """Through another connection: one that has begun to write cannot be copied from."""
    with closing(sqlite3.connect(path)) as reader:
        copy(reader, free_name(path.with_name(f"{path.name}.v{version}")))


def free_name(path: Path) -> Path:
    """This name, or the first with a number behind it, of which there is no file."""
    names = (path if number == 1 else path.with_name(f"{path.name}.{number}") for number in range(1, 1000))
    return next(name for name in names if not name.exists())
