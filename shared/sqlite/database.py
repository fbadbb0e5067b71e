"""One SQLite file: one writer at a time, readers beside it, and the moment from which a power cut loses nothing.

SIGKILL     loses nothing that was committed: the operating system has it
power cut   loses what was committed after the last `sync`, never a part of a transaction
"""

import errno
import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from shared.errors import (
    DataFileCorrupt,
    DataFileError,
    DataFileLocked,
    DataFileReadOnly,
    DataFileUnavailable,
    DataFileUnflushed,
    DiskFull,
)
from shared.sqlite.schema import MIGRATIONS, Migration, create, migrate, restrict, transaction

_KINDS = {
    sqlite3.SQLITE_BUSY: DataFileLocked,
    sqlite3.SQLITE_LOCKED: DataFileLocked,
    sqlite3.SQLITE_PROTOCOL: DataFileLocked,
    sqlite3.SQLITE_FULL: DiskFull,
    sqlite3.SQLITE_READONLY: DataFileReadOnly,
    sqlite3.SQLITE_CORRUPT: DataFileCorrupt,
    sqlite3.SQLITE_NOTADB: DataFileCorrupt,
}
NO_ROOM = 64 * 1024
"""Bytes. SQLite's files grow by up to 32 KiB at once."""
_UNAVAILABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
READERS = 8
"""Kept connections for reads. A read takes microseconds, so a hundred threads need few; more are closed after use."""
READER_CACHE = "PRAGMA cache_size = -512"
"""In KiB, of SQLite's usual 2,000: what all of them need is in the system's cache as well."""
PATIENCE = 10.0
"""Seconds to wait for another process that writes."""


class translated:  # noqa: N801  # a context manager, used like a function; a generator takes three times as long
    """Raise a DataFileError for what is wrong with the file. Defects (a wrong statement, a closed file) pass through."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, sqlite3.Error):
            translation = _of_sqlite(error, self._path)
            if translation is not None:
                raise translation from error
        elif isinstance(error, OSError):
            raise _of_system(error, self._path) from error


def _of_sqlite(error: sqlite3.Error, path: Path) -> DataFileError | None:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the extended code has the kind in its lowest byte
    if code in _KINDS:
        return _KINDS[code](str(path))
    if code == sqlite3.SQLITE_IOERR and _is_full(path):  # SQLite reports a log or index that cannot grow like this
        return DiskFull(str(path))
    if code in _UNAVAILABLE:
        return DataFileUnavailable(str(path), f"{error} ({error.sqlite_errorname})")
    return None


def _is_full(path: Path) -> bool:
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < NO_ROOM


def _of_system(error: OSError, path: Path) -> DataFileError:
    if error.errno in _FULL:
        return DiskFull(str(path))
    if error.errno in _READ_ONLY:
        return DataFileReadOnly(str(path))
    return DataFileUnavailable(str(path), error.strerror or str(error))


class Database:
    """An open file. Threads share it; other processes may have it open, too.

    Opening creates the file if there is none and migrates an older one. Every method raises DataFileError.
    """

    def __init__(self, path: Path, *, patience: float = PATIENCE, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self.path = path
        self._patience = patience
        self._readers: list[sqlite3.Connection] = []
        self._write_lock = threading.Lock()
        self._sync_lock = threading.Lock()
        self._commits = 0
        self._synced = 0
        self._unflushed = ""
        self._log: int | None = None
        with translated(path):
            create(path)
            self._writer = self._connect()
            try:
                migrate(self._writer, path, patience=patience, migrations=migrations)
                restrict(path)
            except BaseException:
                self._writer.close()
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees what is committed. Read to the end inside the block, and yield nothing from it."""
        with translated(self.path):
            try:
                connection = self._readers.pop()  # the one used last; atomic, as is append
            except IndexError:
                connection = self._connect()
                connection.execute(READER_CACHE)
            try:
                yield connection
            finally:
                if len(self._readers) < READERS:
                    self._readers.append(connection)
                else:
                    connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: committed when the block ends, undone if it raises. One at a time, also among processes.

        Wake others after the block, not in it: they would wait for its lock.
        """
        if not self._write_lock.acquire(timeout=self._patience):  # it waits for another process
            raise DataFileLocked(str(self.path))
        try:
            with translated(self.path), transaction(self._writer):
                yield self._writer
            self._commits += 1
        finally:
            self._write_lock.release()

    def sync(self) -> None:
        """Return when everything that was committed before this call is on the disk.

        Call it before anything leaves the process: an answer, or a call to a platform. Concurrent calls share one wait.
        Raises DataFileUnflushed, and from then on always: a system that could not write may have dropped what it had, so
        another flush would prove nothing.
        """
        commits = self._commits
        if commits <= self._synced:
            return
        with self._sync_lock, translated(self.path):
            if commits <= self._synced:
                return
            if self._unflushed:
                raise DataFileUnflushed(str(self.path), self._unflushed)
            commits = self._commits
            if self._log is None:  # only this file: closing a descriptor of the database would release SQLite's locks
                self._log = os.open(f"{self.path}-wal", os.O_RDONLY)
            try:
                _flush(self._log)
            except OSError as error:
                self._unflushed = error.strerror or str(error)
                raise DataFileUnflushed(str(self.path), self._unflushed) from error
            self._synced = commits

    def close(self) -> None:
        """Close the file; the last process to do so empties the log. Threads must have stopped using it."""
        with self._write_lock, self._sync_lock:
            while self._readers:
                self._readers.pop().close()
            self._writer.close()
            if self._log is not None:
                os.close(self._log)
                self._log = None

    def _connect(self) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode=rw"  # a file that was removed is an error, not a new database
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, check_same_thread=False, timeout=self._patience
        )
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection


def _flush(descriptor: int) -> None:
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync leaves the data in the drive's cache
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)
