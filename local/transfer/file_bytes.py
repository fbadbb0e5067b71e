"""The bytes of files in an export: they follow the item of their file, in pieces. No file is ever whole in memory."""

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Any

from local.transfer.data_file import PIECE, line_of_piece
from shared.errors import FileMismatch, FileMissing
from shared.ports.files import Files, digest_of, spooled
from shared.ports.tables import Item, Table
from shared.store.files import bytes_key
from shared.store.keys import FILE
from shared.store.transfer.export import Record
from shared.store.transfer.kinds import Kind, kind_of


class Whole:
    """Compares the pieces that follow an item with what it announces; without an item there may be none."""

    def __init__(self, item: Item | None = None) -> None:
        self._item, self._left, self._digest = item, item["size"] if item else 0, hashlib.sha256()

    def add(self, piece: bytes) -> None:
        """Raises ValueError for more than announced."""
        self._left -= len(piece)
        if self._left < 0:
            raise ValueError("more bytes than announced")
        self._digest.update(piece)

    def end(self) -> None:
        """Raises ValueError if it is not whole."""
        if self._item is not None and (self._left or self._digest.hexdigest() != digest_of(_key_of(self._item))):
            raise ValueError("not the bytes of the file")


class Reading:
    """The bytes of one file after the other, copied and compared with the digest before any is written."""

    def __init__(self, files: Files | None) -> None:
        self._files = files
        self._copy: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed at the end of the export

    def has(self, item: Item) -> bool:
        """Copy the bytes of a file. False if they are gone, or are not those of its digest."""
        if self._files is None:
            return False
        self._copy.seek(0)
        self._copy.truncate()
        try:
            spooled(_key_of(item), self._files.get(_key_of(item)), self._copy.write, size=item["size"])
        except (FileMissing, FileMismatch):
            return False
        self._copy.seek(0)
        return True

    def lines(self) -> Iterator[bytes]:
        """The lines of the file that was copied last."""
        while piece := self._copy.read(PIECE):
            yield line_of_piece(piece)

    def __enter__(self) -> "Reading":
        return self

    def __exit__(self, *_: object) -> None:
        self._copy.close()


def store_files(files: Files, contents: Iterable[Record | bytes]) -> int:
    """Store the bytes of all files that are not there; returns how many. The contents were checked."""
    stored, each = 0, iter(contents)
    for record in each:
        if not isinstance(record, bytes) and is_file(record):
            item = record[1]
            if files.size(_key_of(item)) != item["size"]:
                files.put(_key_of(item), _pieces(each, item["size"]), size=item["size"], media_type=item["type"])
                stored += 1
    return stored


def is_file(record: Record) -> bool:
    table, item = record
    return table is Table.SESSIONS and kind_of(table, item) is Kind.FILE


def _pieces(contents: Iterator[Any], size: int) -> Iterator[bytes]:
    while size > 0:
        piece: bytes = next(contents)
        size -= len(piece)
        yield piece


def _key_of(item: Item) -> str:
    session = item["pk"].removeprefix("SESSION#")
    return bytes_key(item["user"], session, item["sk"].removeprefix(FILE))
