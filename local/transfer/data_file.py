"""The file of an export: gzip of lines of JSON, described in docs/move.md. One that was cut is refused before it is used.

{"format": "handoff-data", "version": 1, "created_at": …, "counts": {…}}
{"table": "sessions", "item": {…}, "bytes": [["data", "<base64>"]]}        one for each item
{"end": true, "items": N, "sha256": "<of all lines above>"}
"""

import base64
import gzip
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from shared.ports.tables import Item, Table
from shared.sqlite.tables import without_bytes
from shared.store.transfer.export import Record

FORMAT, VERSION = "handoff-data", 1
_TABLES = {table.name.lower(): table for table in Table}


class DamagedFile(Exception):
    """It is not a file of this kind, or not all of it. The text is for a person."""


def write_file(path: Path, header: Mapping[str, Any], lines: Iterable[bytes]) -> None:
    """Write a whole new file that only this user can read. The lines are those of `line_of`."""
    digest, count = hashlib.sha256(), 0
    first = _line({"format": FORMAT, "version": VERSION, **header})
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as raw:
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            for count, line in enumerate(chain([first], lines)):  # noqa: B007  # the header is not counted
                file.write(line)
                digest.update(line)
            file.write(_line({"end": True, "items": count, "sha256": digest.hexdigest()}))
        raw.flush()
        os.fsync(raw.fileno())


def line_of(record: Record) -> bytes:
    """One item. JSON has no bytes: they are null in the item, and listed with their places beside it."""
    table, item = record
    found: list[tuple[tuple[str | int, ...], bytes]] = []
    plain = without_bytes(item, (), found)
    places = [[*path, base64.b64encode(data).decode()] for path, data in found]
    return _line({"table": table.name.lower(), "item": plain, **({"bytes": places} if places else {})})


def record_of(line: bytes) -> Record:
    """The item of a line again. Raises ValueError, LookupError or TypeError."""
    read = json.loads(line)
    item: Item = read["item"]
    for *path, name, text in read.get("bytes", ()):
        parent: Any = item
        for step in path:
            parent = parent[step]
        parent[name] = base64.b64decode(text, validate=True)
    table = _TABLES[read["table"]]
    table.key_of(item)
    return table, item


def read_header(path: Path) -> dict[str, Any]:
    """Read the whole file and check it against its end; returns its header. Raises DamagedFile, OSError."""
    digest, count, header, end = hashlib.sha256(), 0, {}, None
    try:
        with gzip.open(path, "rb") as file:
            for number, line in enumerate(file):
                if end is not None:
                    raise DamagedFile(f"{path} goes on behind its end.")
                if number == 0:
                    header = _header(path, line)
                elif line.startswith(b'{"end"'):
                    end = json.loads(line)
                    continue
                else:
                    record_of(line)
                    count += 1
                digest.update(line)
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError, LookupError, TypeError) as error:
        raise DamagedFile(f"{path} is not a whole export of Handoff ({type(error).__name__}).") from error
    if end is None or (end["items"], end["sha256"]) != (count, digest.hexdigest()):
        raise DamagedFile(f"{path} is not complete, or was changed.")
    return header


def records_in(path: Path) -> Iterator[Record]:
    """The items of a file that `read_header` has accepted."""
    with gzip.open(path, "rb") as file:
        for number, line in enumerate(file):
            if number and not line.startswith(b'{"end"'):
                yield record_of(line)


def _header(path: Path, line: bytes) -> dict[str, Any]:
    header = json.loads(line)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise DamagedFile(f"{path} is not an export of Handoff.")
    if header.get("version") != VERSION:
        version = header.get("version")
        raise DamagedFile(f"{path} has version {version} of the format; this release reads {VERSION}.")
    return header


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
