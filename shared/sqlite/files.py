"""The `Files` port in a directory beside the database: readable for its user only, each file written whole or not at all."""

import base64
import errno
import hashlib
import hmac
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from shared.errors import DiskFull, FileMismatch, FileMissing, UploadRefused
from shared.ports.files import UPLOAD_SECONDS, Upload, digest_of

UPLOADS = "/uploads/"
"""Begins the paths that take uploads."""
_CHUNK = 256 * 1024
_INCOMING = "incoming"
_LEAST_KEY = 3


class Incoming:
    """A file that is being written. Leave it with `finish`, which checks size and digest, or with `abandon`."""

    def __init__(self, directory: Path, key: str, target: Path, size: int) -> None:
        self._key, self._target, self._size = key, target, size
        self._digest, self._count = hashlib.sha256(), 0
        self._path = directory / secrets.token_hex(16)
        descriptor = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        self._file: BinaryIO = os.fdopen(descriptor, "wb", buffering=0)

    def write(self, chunk: bytes) -> None:
        """Raises FileMismatch for more than was announced."""
        self._count += len(chunk)
        if self._count > self._size:
            raise FileMismatch
        self._digest.update(chunk)
        self._file.write(chunk)

    def finish(self) -> None:
        """Give the file its name; it is on the disk when this returns. Raises FileMismatch."""
        if self._count != self._size or self._digest.hexdigest() != digest_of(self._key):
            raise FileMismatch
        os.fsync(self._file.fileno())
        self._file.close()
        for directory in (self._target.parent.parent, self._target.parent):  # a mode is not that of the parents
            directory.mkdir(mode=0o700, exist_ok=True)
        self._path.replace(self._target)
        _sync(self._target.parent)

    def abandon(self) -> None:
        """After `finish` it does nothing."""
        self._file.close()
        self._path.unlink(missing_ok=True)


class DirectoryFiles:
    """One process writes here. Uploads go to the service itself, by URLs that this process has signed.

    A file is at `<user>/<session>/<digest>`, with the first two hashed: names of directories ignore case on some systems.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._secret = secrets.token_bytes(32)

    def prepare(self) -> None:
        """Make the directory, and remove what an earlier process left half written. Only for the process that owns it."""
        with _translated(self._root):
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.rmtree(self._root / _INCOMING, ignore_errors=True)
            (self._root / _INCOMING).mkdir(mode=0o700)

    @contextmanager
    def incoming(self, key: str, *, size: int) -> Iterator[Incoming]:
        """A file to write; what is not finished is removed. Raises DiskFull."""
        with _translated(self._root):
            (self._root / _INCOMING).mkdir(mode=0o700, parents=True, exist_ok=True)
            incoming = Incoming(self._root / _INCOMING, key, self._path(key), size)
            try:
                yield incoming
            finally:
                incoming.abandon()

    def put(self, key: str, content: Iterable[bytes], *, size: int, media_type: str) -> None:  # noqa: ARG002  # the item has it
        with self.incoming(key, size=size) as incoming:
            for chunk in content:
                incoming.write(chunk)
            incoming.finish()

    def get(self, key: str) -> Iterator[bytes]:
        try:
            file = self._path(key).open("rb", buffering=0)
        except FileNotFoundError:
            raise FileMissing("no such file") from None
        return _read(file)

    def copy(self, source: str, target: str) -> None:
        """The copy counts as written when the original was: `expire` looks at that."""
        with _translated(self._root):
            copied = self._path(target)
            for directory in (copied.parent.parent, copied.parent):
                directory.mkdir(mode=0o700, exist_ok=True)
            try:
                _copy(self._path(source), copied, self._root / _INCOMING / secrets.token_hex(16))
            except FileNotFoundError:
                raise FileMissing("no such file") from None

    def size(self, key: str) -> int | None:
        with suppress(FileNotFoundError):
            return self._path(key).stat().st_size
        return None

    def upload(self, key: str, *, size: int, media_type: str, now: int) -> Upload:
        expires_at = now + UPLOAD_SECONDS * 1000
        asked = base64.urlsafe_b64encode(f"{key} {size} {expires_at}".encode()).decode().rstrip("=")
        headers = {"Content-Length": str(size), "Content-Type": media_type}
        return Upload(f"{UPLOADS}{asked}.{self._signature(asked)}", headers, expires_at)

    def announced(self, path: str, *, now: int) -> tuple[str, int]:
        """The key and the size of an upload to this path. Raises UploadRefused unless `upload` gave it, a short while ago."""
        asked, _, signature = path.removeprefix(UPLOADS).partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(asked).encode()):
            raise UploadRefused
        key, size, expires_at = base64.urlsafe_b64decode(asked + "==").decode().split(" ")
        if int(expires_at) <= now:
            raise UploadRefused
        return key, int(size)

    def download_url(self, key: str, *, name: str, media_type: str, now: int) -> str | None:  # noqa: ARG002  # sent by the service
        return None

    def delete(self, prefix: str) -> None:
        with _translated(self._root):
            if prefix.endswith("/"):
                shutil.rmtree(self._path(prefix.rstrip("/")), ignore_errors=True)
                return
            self._path(prefix).unlink(missing_ok=True)

    def expire(self, *, before: float) -> None:
        """Remove files that were written before this time (seconds): a net for those whose item is lost."""
        for directory, _, names in os.walk(self._root):
            for name in names:
                path = Path(directory, name)
                with suppress(FileNotFoundError):
                    if path.stat().st_mtime < before:
                        path.unlink()

    def _path(self, key: str) -> Path:
        *owners, last = key.split("/")
        hashed = [hashlib.sha256(each.encode()).hexdigest()[:32] for each in owners]
        if len(owners) == _LEAST_KEY - 1:
            return self._root.joinpath(*hashed, _named(last))
        return self._root.joinpath(*hashed, hashlib.sha256(last.encode()).hexdigest()[:32])

    def _signature(self, asked: str) -> str:
        return hmac.new(self._secret, asked.encode(), hashlib.sha256).hexdigest()


def copy_files(source: Path, target: Path) -> int:
    """Add the files of one directory to another, each whole or not at all; returns their bytes. What is there stays.

    A file never changes, so a link is as good as a copy where the file system has links.
    """
    size = 0
    for file in source.glob("*/*/*"):
        copied = target / file.relative_to(source)
        for directory in (target, copied.parent.parent, copied.parent):
            directory.mkdir(mode=0o700, parents=directory is target, exist_ok=True)
        with suppress(FileNotFoundError):  # its time is over
            size += file.stat().st_size
            if not copied.exists():
                _copy(file, copied, copied.with_name(f".{copied.name}.{os.getpid()}"))
    return size


def _copy(file: Path, copied: Path, fresh: Path) -> None:
    """Through the name `fresh`, which no other thread uses; what a process left there when it died is replaced."""
    fresh.unlink(missing_ok=True)
    try:
        try:
            fresh.hardlink_to(file)
        except FileNotFoundError:
            raise
        except OSError:
            shutil.copy2(file, fresh)
        fresh.replace(copied)
    finally:
        fresh.unlink(missing_ok=True)
    _sync(copied.parent)


def _named(digest: str) -> str:
    if len(digest) != 64 or not digest.isalnum():  # of SHA-256 in hex
        raise ValueError("a key ends with a digest")
    return digest


def _read(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(str(path)) from error
        raise
