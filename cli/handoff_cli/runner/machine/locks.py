"""Locks of this machine: one per native session, held as long as an agent runs it, and one for the runner itself."""

import fcntl
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from handoff_cli.runner.machine.files import private_directory


class Lock:
    """An exclusive lock on a file. A process that inherits its descriptor keeps it, even after this one died."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    @property
    def descriptor(self) -> int:
        """For the agent to inherit."""
        assert self._handle is not None  # noqa: S101 - asked only while it is held
        return self._handle

    def acquire(self) -> bool:
        """Take the lock without waiting; False if another process has it."""
        private_directory(self._path.parent)
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return False
        self._handle = handle
        return True

    def is_free(self) -> bool:
        """Take it and give it back at once: after a move the service offers no turn that would take it again."""
        taken = self.acquire()
        self.release()
        return taken

    def note(self, **about: Any) -> None:
        """Write who has the lock, for `holder`."""
        os.pwrite(self.descriptor, json.dumps(about).encode().ljust(300), 0)

    def holder(self) -> dict[str, Any]:
        """The note of its last holder; empty if there is none."""
        with suppress(OSError, ValueError):
            found = json.loads(self._path.read_bytes())
            return found if isinstance(found, dict) else {}
        return {}

    def release(self) -> None:
        """Idempotent. Processes that inherited the descriptor must be gone."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def session_lock(state: Path, agent: str, native_id: str) -> Lock:
    """The lock of a native session: of all processes that use it, one at a time may write it."""
    name = hashlib.sha256(f"{agent}\0{native_id}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return Lock(private_directory(state).joinpath("locks", name))


def session_locks(state: Path) -> list[Lock]:
    """The locks of all native sessions that were ever used, and that of the transcriber."""
    return [Lock(path) for path in sorted((state / "locks").glob("*"))]


def voice_lock(state: Path) -> Lock:
    """Names the process that transcribes, as those of sessions name their agents."""
    return Lock(private_directory(state).joinpath("locks", "voice"))


def runner_lock(state: Path) -> Lock:
    """The lock of the machine's runner."""
    return Lock(private_directory(state) / "lock")
