"""Events that the service has not stored yet, in a file: signal-cli hands out each event once."""

import asyncio
import os
from collections import deque
from pathlib import Path


class Spool:
    """A queue of lines that outlives the relay. For one relay at a time; an empty spool has no file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = deque(path.read_bytes().splitlines() if path.exists() else ())
        self._filled = asyncio.Event()
        if self._lines:
            self._filled.set()

    def add(self, line: bytes) -> None:
        """On the disk when it returns."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb") as file:  # noqa: PTH123  # the mode
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self._lines.append(line)
        self._filled.set()

    async def first(self) -> bytes:
        """The oldest line, as soon as there is one. It stays until `done`."""
        await self._filled.wait()
        return self._lines[0]

    def done(self) -> None:
        """Remove the oldest line. If the process dies before, it is forwarded again, which does no harm."""
        self._lines.popleft()
        if not self._lines:
            self._filled.clear()
            self._path.unlink(missing_ok=True)
            return
        other = self._path.with_suffix(".new")
        with open(os.open(other, os.O_WRONLY | os.O_TRUNC | os.O_CREAT, 0o600), "wb") as file:  # noqa: PTH123
            file.write(b"".join(line + b"\n" for line in self._lines))
            file.flush()
            os.fsync(file.fileno())
        other.replace(self._path)
