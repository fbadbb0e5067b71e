"""Copies of the file: a backup while the service runs, and the way back."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from shared.errors import DataFileCorrupt, DataFileForeign
from shared.sqlite.database import translated
from shared.sqlite.schema import Progress, copy, free_name, sync_directory, transaction, version_of

_BESIDE = ("-wal", "-shm", "-journal")
"""Ends of the names of files that SQLite keeps beside a database."""


@contextmanager
def opened(path: Path, *, is_backup: bool = False) -> Iterator[sqlite3.Connection]:
    """A database to look at: nothing is migrated. Raises DataFileError, also for a file of another program.

    A backup, which no process changes, may lie where nothing can be written.
    """
    mode = "mode=ro&immutable=1" if is_backup and not _has_log(path) else "mode=rw"
    uri = f"{path.absolute().as_uri()}?{mode}"
    with translated(path), closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)) as connection:
        with transaction(connection, "BEGIN"):
            if version_of(connection, path) == 0:  # a file without content is not a database of anything
                raise DataFileForeign(str(path))
        yield connection


def problems_in(connection: sqlite3.Connection) -> list[str]:
    """Damage in a database, found without comparing each index with its table. Empty: it is sound."""
    try:
        rows = [str(text) for (text,) in connection.execute("PRAGMA quick_check(5)")]
    except sqlite3.DatabaseError as error:  # damaged so badly that the check ends
        return [str(error)]
    return [] if rows == ["ok"] else rows


def back_up(path: Path, target: Path, *, replace: bool = False, progress: Progress = lambda _: None) -> None:
    """Write a consistent copy, also while the service writes. The target has either all of it or is as it was before.

    Raises DataFileError for either file, and FileExistsError unless the target may be replaced.
    """
    if not replace and target.exists():
        raise FileExistsError(target)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with opened(path) as connection, translated(target):
            copy(connection, fresh, progress)
        _publish(fresh, target, replace=replace)
        with translated(target):
            sync_directory(target.parent)
    finally:
        fresh.unlink(missing_ok=True)


def restore(source: Path, database: Path, *, progress: Progress = lambda _: None) -> Path | None:
    """Put a copy of a backup in the place of the database, in one step. No process may use the database.

    Returns where the replaced file is kept; None if there was none. Raises DataFileError before anything is replaced.
    """
    fresh = database.with_name(f"{database.name}.restoring")
    _remove(fresh)  # of a run that was interrupted
    try:
        with opened(source, is_backup=True) as connection:
            copy(connection, fresh, progress)
        with opened(fresh) as connection:
            if problems_in(connection):
                raise DataFileCorrupt(str(source))
        with translated(database):
            kept = _keep(database)
            fresh.replace(database)
            sync_directory(database.parent)
    finally:
        _remove(fresh)
    return kept


def _has_log(path: Path) -> bool:
    """Whether a copy of a running service's file was made together with its log."""
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0


def _publish(fresh: Path, target: Path, *, replace: bool) -> None:
    """Give a complete file its name. Raises FileExistsError unless it may replace what has that name."""
    if not replace:
        try:
            target.hardlink_to(fresh)
        except FileExistsError:
            raise
        except OSError:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL, 0o600))  # no links here: reserve the name
        else:
            return
    with translated(target):
        fresh.replace(target)


def _keep(database: Path) -> Path | None:
    """Keep the current file under another name. Until it is replaced, it has its own name too."""
    if not database.exists():
        _remove(database)  # a log without its database would be taken for that of the new one
        return None
    with suppress(sqlite3.Error), closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the last to close it removes the log
    kept = free_name(database.with_name(f"{database.name}.replaced"))
    try:
        kept.hardlink_to(database)
    except OSError:
        shutil.copy2(database, kept)
    for end in _BESIDE:  # left only if the database is damaged: they belong to it, and never to the new one
        beside = database.with_name(database.name + end)
        if beside.exists():
            beside.replace(kept.with_name(kept.name + end))
    return kept


def _remove(database: Path) -> None:
    for end in ("", *_BESIDE):
        database.with_name(database.name + end).unlink(missing_ok=True)
