"""The file of an export: gzip of lines of JSON, described in docs/move.md. One that was cut is refused before it is used.

{"format": "handoff-data", "version": 1, "created_at": …, "counts": {…}}
{"table": "sessions", "item": {…}, "bytes": [["data", "<base64>"]]}        one for each item
{"file": "<base64>"}                                                      bytes of the file whose item came before
{"end": true, "items": N, "sha256": "<of all lines above>"}
"""

import base64
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import IO, Any

from shared.ports.tables import MAX_ITEM_BYTES, InvalidOperation, Item, Table
from shared.sqlite.tables import without_bytes
from shared.store.transfer.export import Record

FORMAT, VERSION = "handoff-data", 1
MAX_LINE = 10 * MAX_ITEM_BYTES
"""Bytes. One byte of an item takes at most six in JSON, and base64 a third more."""
_ALWAYS_UNPACKED, _MOST_UNPACKED = 256 * 1024 * 1024, 100
"""Bytes that a file may unpack to, and as how many times its size: transcripts are packed already."""
_USUAL, _NOT_PACKED = 9, 0
_END, _PIECE = b'{"end"', b'{"file"'
PIECE = 512 * 1024
"""Bytes of a file in one line, at most."""
_DAMAGES = (
    *(EOFError, gzip.BadGzipFile, zlib.error, ValueError, LookupError),
    *(TypeError, AttributeError, RecursionError, InvalidOperation),
)
_TABLES = {table.name.lower(): table for table in Table}


class DamagedFile(Exception):
    """It is not a file of this kind, or not all of it. The text is for a person."""


def write_file(path: Path, header: Mapping[str, Any], lines: Iterable[bytes]) -> None:
    """Write a whole new file that only this user can read. The lines are those of `line_of`."""
    digest, count = hashlib.sha256(), 0
    first = _line({"format": FORMAT, "version": VERSION, **header})
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as raw:
        with closing(_Packed(raw)) as file:
            for count, line in enumerate(chain([first], lines)):  # noqa: B007  # the header is not counted
                file.write(line)
                digest.update(line)
            file.write(_line({"end": True, "items": count, "sha256": digest.hexdigest()}))
        raw.flush()
        os.fsync(raw.fileno())


class _Packed:
    """Writes gzip that an import accepts: what compresses too well is stored uncompressed, in a gzip member of its own."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self._unpacked, self._level = raw, 0, _USUAL
        self._part = self._begin()

    def write(self, line: bytes) -> None:
        self._unpacked += len(line)
        is_dense = 2 * self._unpacked > _ALWAYS_UNPACKED + _MOST_UNPACKED * self._raw.tell()
        if (level := _NOT_PACKED if is_dense else _USUAL) != self._level:
            self._part.close()
            self._level = level
            self._part = self._begin()
        self._part.write(line)

    def close(self) -> None:
        self._part.close()

    def _begin(self) -> gzip.GzipFile:
        return gzip.GzipFile("", "wb", self._level, self._raw, mtime=0)


def line_of(record: Record) -> bytes:
    """One item. JSON has no bytes: they are null in the item, and listed with their places beside it."""
    table, item = record
    found: list[tuple[tuple[str | int, ...], bytes]] = []
    plain = without_bytes(item, (), found)
    places = [[*path, base64.b64encode(data).decode()] for path, data in found]
    return _line({"table": table.name.lower(), "item": plain, **({"bytes": places} if places else {})})


def line_of_piece(piece: bytes) -> bytes:
    """Some bytes of a file, at most PIECE of them."""
    return _line({"file": base64.b64encode(piece).decode()})


def content_of(line: bytes) -> Record | bytes:
    """The item of a line, or its bytes of a file. Raises what `record_of` raises."""
    if not line.startswith(_PIECE):
        return record_of(line)
    piece = base64.b64decode(_parsed(line)["file"], validate=True)
    if not 0 < len(piece) <= PIECE:
        raise ValueError("a piece of a file has another size")
    return piece


def record_of(line: bytes) -> Record:
    """The item of a line again. Raises ValueError, LookupError, TypeError, RecursionError or InvalidOperation."""
    read = _parsed(line)
    item: Item = read["item"]
    for *path, name, text in read.get("bytes", ()):
        parent: Any = item
        for step in path:
            parent = parent[step]
        if parent[name] is not None:
            raise ValueError("there is a value in the place of bytes")
        parent[name] = base64.b64decode(text, validate=True)
    table = _TABLES[read["table"]]
    table.key_of(item)
    return table, item


def read_header(path: Path, check: Callable[[Record | bytes], None] = lambda _: None) -> dict[str, Any]:
    """Read the whole file, `check` all items and pieces, compare it with its end; return its header. Raises DamagedFile, OSError.

    `check` may raise what `record_of` does.
    """
    digest, count, header, end = hashlib.sha256(), 0, {}, None
    number = 0
    try:
        for number, line in enumerate(_lines(path), 1):
            if end is not None:
                raise DamagedFile(f"{path} goes on behind its end.")
            if number == 1:
                header = _header(path, line)
            elif line.startswith(_END):
                end = _parsed(line)
                continue
            else:
                check(content_of(line))
                count += 1
            digest.update(line)
    except _DAMAGES as error:
        raise DamagedFile(
            f"{path} is not a whole export of Handoff: line {max(1, number)} cannot be read ({type(error).__name__})."
        ) from error
    if end is None or (end.get("items"), end.get("sha256")) != (count, digest.hexdigest()):
        raise DamagedFile(f"{path} is not complete, or was changed.")
    return header


def records_in(path: Path) -> Iterator[Record]:
    """The items of a file that `read_header` has accepted."""
    for number, line in enumerate(_lines(path)):
        if number and not line.startswith((_END, _PIECE)):
            yield record_of(line)


def contents_in(path: Path) -> Iterator[Record | bytes]:
    """The same, each file with its bytes behind it."""
    for number, line in enumerate(_lines(path)):
        if number and not line.startswith(_END):
            yield content_of(line)


def _lines(path: Path) -> Iterator[bytes]:
    """The lines, none of which is longer than that of the largest item. Raises DamagedFile."""
    room = _ALWAYS_UNPACKED + _MOST_UNPACKED * path.stat().st_size
    with gzip.open(path, "rb") as file:
        while line := file.readline(MAX_LINE + 1):
            room -= len(line)
            if len(line) > MAX_LINE or room < 0:
                raise DamagedFile(f"{path} is not an export of Handoff: it unpacks to more than one does.")
            yield line


def _header(path: Path, line: bytes) -> dict[str, Any]:
    header = _parsed(line)
    if header.get("format") != FORMAT:
        raise DamagedFile(f"{path} is not an export of Handoff.")
    version = header.get("version")
    if type(version) is not int:
        raise ValueError("the version is no number")
    if version != VERSION:
        raise DamagedFile(f"{path} has version {version} of the format; this release reads {VERSION}.")
    return header


def _parsed(line: bytes) -> dict[str, Any]:
    """A line. Items have integers only, so another number is refused. Raises ValueError, RecursionError."""
    read = json.loads(line, parse_float=_refuse, parse_constant=_refuse)
    if type(read) is not dict:
        raise ValueError("not a map")
    return read


def _refuse(number: str) -> None:
    raise ValueError(f"not an integer: {number:.20}")


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
