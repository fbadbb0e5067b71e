"""The directory of a service on one machine: what is in it, and who may use it."""

import fcntl
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from local.env_file import read_env, write_private

SIMULATED = "simulated/"
"""Begins the names of the simulated bots' secrets in the database, so that they never stand for a real one."""
PATIENCE_SECONDS = 0.5
"""How long a start waits for a lock that is held for a moment only, as by `running`."""


class Unusable(Exception):
    """The service cannot start. The text is for a person."""


class Refused(Unusable):
    """It cannot start, and another try would not help: a person must change something first."""


class InUse(Refused):
    """Another process has the directory."""


def default_directory(environment: Mapping[str, str]) -> Path:
    """Where programs keep the data of their user."""
    given = environment.get("XDG_DATA_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".local" / "share"
    return base / "handoff"


@dataclass(frozen=True)
class DataDirectory:
    """`handoff.db` holds everything that counts, but for the bytes of files in `files`.

    `settings` is written by its user, `env` for clients,
    `log` and `state` for people, `chats` for the simulator.
    """

    path: Path

    @classmethod
    def at(cls, given: Path) -> "DataDirectory":
        """The directory that an option names."""
        return cls(given.expanduser().absolute())

    def is_usual(self, environment: Mapping[str, str]) -> bool:
        """Whether clients look here by themselves."""
        return self.path == default_directory(environment)

    @property
    def database(self) -> Path:
        return self.path / "handoff.db"

    @property
    def files(self) -> Path:
        return self.path / "files"

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def chats(self) -> Path:
        return self.path / "chats"

    @property
    def settings(self) -> Path:
        return self.path / "settings"

    @property
    def state(self) -> Path:
        return self.path / "state"

    def names(self) -> set[str]:
        """The files that the service itself reads or writes."""
        database = [f"{self.database.name}{end}" for end in ("", "-wal", "-shm", "-journal", ".restoring")]
        return {
            *database,
            "env",
            "lock",
            self.files.name,
            self.log.name,
            self.chats.name,
            self.settings.name,
            self.state.name,
        }

    def create(self) -> None:
        """Make it, for this user only. Raises Unusable."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.path.stat().st_mode & 0o077:
                self.path.chmod(0o700)
        except OSError as error:
            raise Unusable(f"{self.path} cannot be used: {error.strerror}. Choose another one with --data.") from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out. Raises InUse, with the other's id.

        The directory itself is locked: a file in it can be removed and made again. Where a file system has no locks for
        directories, the file `lock` keeps others out; it names the process everywhere.
        """
        with self._opened("lock", os.O_CREAT | os.O_RDWR) as named, self._opened(".", os.O_RDONLY) as directory:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while not all(_takes(each, fcntl.LOCK_EX) for each in (directory, named)):
                if time.monotonic() < deadline:
                    time.sleep(0.02)
                    continue
                raise InUse(
                    f"Handoff runs on {self.path} already (process {_holder(named) or 'unknown'}), and one file has one "
                    "process. Nothing was started. Stop the other one first, or choose another directory with --data."
                )
            with suppress(OSError):  # a full disk: the lock holds without the id, too
                os.ftruncate(named, 0)
                os.pwrite(named, f"{os.getpid()}\n".encode(), 0)
            yield

    def running(self) -> str | None:
        """The id of the process that has the directory, None if there is none."""
        if not self.path.is_dir():
            return None
        with ExitStack() as stack:
            opened = [stack.enter_context(self._opened(".", os.O_RDONLY))]
            if (self.path / "lock").exists():
                opened.append(stack.enter_context(self._opened("lock", os.O_RDONLY)))
            if all(_takes(each, fcntl.LOCK_SH) for each in opened):
                return None
            return (_holder(opened[-1]) if len(opened) > 1 else "") or "unknown"

    @contextmanager
    def _opened(self, name: str, flags: int) -> Iterator[int]:
        try:
            descriptor = os.open(self.path / name, flags | os.O_CLOEXEC, 0o600)
        except OSError as error:
            where = self.path / name
            raise Unusable(f"{where} cannot be used: {error.strerror}. Nothing was started.") from error
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def read_env(self) -> dict[str, str]:
        """The variables of the last run; empty if there are none."""
        return read_env(self.path / "env")

    def write_env(self, values: Mapping[str, str]) -> None:
        """For clients: where the service is, and tokens for it. It stays when the service stops. Raises Unusable."""
        try:
            write_private(self.path / "env", "".join(f"{name}={value}\n" for name, value in values.items()))
        except OSError as error:
            raise Unusable(f"{self.path}/env cannot be written: {error.strerror}. Nothing was started.") from error


def _takes(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return stat.S_ISDIR(os.fstat(descriptor).st_mode)  # a network file system has no locks for directories
    return True


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 20, 0).decode(errors="replace").strip()
