"""Events that the service has not stored yet, in a file: signal-cli hands out each event once."""

import asyncio
import contextlib
import logging
import os
from collections import deque
from pathlib import Path

log = logging.getLogger(__name__)
DONE = b""
"""A line of the file: the oldest event before it is done. No event is empty."""
LEAST_WASTE = 256 * 1024
"""Bytes. A file is not written anew for less."""


class Spool:
    """A queue of lines that outlives the relay. For one relay at a time; an empty spool has no file.

    The file is only appended to: events, and `DONE` for each that is done. It is written anew when most of it is done. On a
    full disk what could not be written stays in memory, and the next write tries again, in the same order.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        *lines, torn = (path.read_bytes() if path.exists() else b"").split(b"\n")
        if torn:
            log.warning("%s ends within an event, which is lost: the disk was full, or the machine stopped", path)
        self._size = sum(len(line) + 1 for line in lines)
        self._lines = deque(line for line in lines if line != DONE)
        self._unwritten = deque[bytes]()
        self._waste = 0
        self._filled = asyncio.Event()
        for _ in range(min(lines.count(DONE), len(self._lines))):
            self._waste += len(self._lines.popleft()) + len(b"\n\n")
        if self._lines:
            self._filled.set()

    def add(self, line: bytes) -> None:
        """On the disk when it returns. Raises OSError if it is in memory only."""
        self._lines.append(line)
        self._filled.set()
        self._append(line, flushes=True)

    async def first(self) -> bytes:
        """The oldest line, as soon as there is one. It stays until `done`."""
        await self._filled.wait()
        return self._lines[0]

    def done(self) -> None:
        """Remove the oldest line. If this is lost, it is forwarded again, which does no harm; so it waits for no disk.

        Raises OSError if the file still has it, which means the same.
        """
        line = self._lines.popleft()
        if not self._lines:
            self._filled.clear()
            self._unwritten.clear()
            self._size = self._waste = 0
            self._path.unlink(missing_ok=True)
            return
        self._waste += len(line) + len(b"\n\n")
        self._append(DONE, flushes=False)
        if self._waste > max(LEAST_WASTE, self._size - self._waste):
            self._write_anew()

    def _append(self, line: bytes, *, flushes: bool) -> None:
        """Write the line behind all that could not be written before. Raises OSError after some of it."""
        self._unwritten.append(line)
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600), "wb", buffering=0) as file:  # noqa: PTH123  # the mode
            file.truncate(self._size)  # what a failed write has left
            file.seek(self._size)
            while self._unwritten:
                self._size += _write(file.fileno(), self._unwritten[0] + b"\n")
                self._unwritten.popleft()
            if flushes:
                os.fsync(file.fileno())

    def _write_anew(self) -> None:
        """Write only what is not done. If that fails, the file stays as it is, until there is more to gain."""
        self._waste = 0
        other = self._path.with_suffix(".new")
        try:
            with open(os.open(other, os.O_WRONLY | os.O_TRUNC | os.O_CREAT, 0o600), "wb", buffering=0) as file:  # noqa: PTH123
                size = _write(file.fileno(), b"".join(line + b"\n" for line in self._lines))
                os.fsync(file.fileno())
            other.replace(self._path)
        except OSError:
            with contextlib.suppress(OSError):
                other.unlink(missing_ok=True)
            return
        self._size = size


def _write(file: int, content: bytes) -> int:
    """Write all of it; returns how many bytes. Raises OSError after some of them."""
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]
    return len(content)
