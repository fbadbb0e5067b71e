"""Events that the service has not stored yet, in a file: signal-cli hands out each event once."""

import asyncio
import logging
import os
from collections import deque
from pathlib import Path

log = logging.getLogger(__name__)


class Spool:
    """A queue of lines that outlives the relay. For one relay at a time; an empty spool has no file.

    On a full disk the lines stay in memory, and the file keeps what it had. The next write tries again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        *lines, torn = (path.read_bytes() if path.exists() else b"").split(b"\n")
        if torn:
            log.warning("%s ends within an event, which is lost: the disk was full, or the machine stopped", path)
        self._lines = deque(lines)
        self._size = sum(len(line) + 1 for line in lines)
        self._filled = asyncio.Event()
        if self._lines:
            self._filled.set()

    def add(self, line: bytes) -> None:
        """On the disk when it returns. Raises OSError if it is in memory only."""
        self._lines.append(line)
        self._filled.set()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600), "wb", buffering=0) as file:  # noqa: PTH123  # the mode
            file.truncate(self._size)  # what a failed write has left
            file.seek(self._size)
            self._size += _write(file.fileno(), line + b"\n")

    async def first(self) -> bytes:
        """The oldest line, as soon as there is one. It stays until `done`."""
        await self._filled.wait()
        return self._lines[0]

    def done(self) -> None:
        """Remove the oldest line. If the process dies before, it is forwarded again, which does no harm.

        Raises OSError if the file still has it, which means the same.
        """
        self._lines.popleft()
        if not self._lines:
            self._filled.clear()
            self._size = 0
            self._path.unlink(missing_ok=True)
            return
        other = self._path.with_suffix(".new")
        try:
            with open(os.open(other, os.O_WRONLY | os.O_TRUNC | os.O_CREAT, 0o600), "wb", buffering=0) as file:  # noqa: PTH123
                size = _write(file.fileno(), b"".join(line + b"\n" for line in self._lines))
        except OSError:
            other.unlink(missing_ok=True)
            raise
        other.replace(self._path)
        self._size = size


def _write(file: int, content: bytes) -> int:
    """Write all of it to the disk; returns how many bytes. Raises OSError after some of them."""
    left = memoryview(content)
    while left:
        left = left[os.write(file, left) :]
    os.fsync(file)
    return len(content)
