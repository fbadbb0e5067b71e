"""Errors of SQLite and of the file system as those of the service."""

import errno
import os
import sqlite3
from pathlib import Path

from shared.errors import (
    DataFileCorrupt,
    DataFileError,
    DataFileLocked,
    DataFileReadOnly,
    DataFileUnavailable,
    DiskFull,
)

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
