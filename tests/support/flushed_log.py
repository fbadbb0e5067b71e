"""What a power cut would leave of a database: nothing of its log that was not flushed."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from shared.sqlite import database as databases
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from tests.support.one_machine import Patch


class FlushedLog:
    """Notes how much of the log was flushed. The log is kept whole: without checkpoints, it has every commit.

    `noted` is called with the length after each flush.
    """

    def __init__(self, noted: Callable[[int], object] = lambda _: None) -> None:
        self._noted = noted
        self._flush, self._connect = databases._flush, Database._connect
        self.length = 0
        self.flushes = 0

    def install(self, patch: Patch) -> None:
        def connect(database: Database) -> sqlite3.Connection:
            connection = self._connect(database)
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            return connection

        patch.setattr(databases, "_flush", self._note)
        patch.setattr(Database, "_connect", connect)

    @contextmanager
    def left(self, database: Path) -> Iterator[SqliteTables]:
        """The tables as they would be if the power were cut now."""
        length = self.length
        with TemporaryDirectory(prefix="handoff-") as directory:
            copy = Path(directory) / database.name
            shutil.copyfile(database, copy)
            with Path(f"{database}-wal").open("rb") as log:
                Path(f"{copy}-wal").write_bytes(log.read(length))
            opened = Database(copy)
            try:
                yield SqliteTables(opened)
            finally:
                opened.close()

    def _note(self, descriptor: int) -> None:
        length = os.fstat(descriptor).st_size
        self._flush(descriptor)
        self.length = max(self.length, length)
        self.flushes += 1
        self._noted(self.length)
