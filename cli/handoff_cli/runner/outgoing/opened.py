"""A file below the directory of a session, opened once: what is checked is what is sent."""

import hashlib
import mimetypes
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath

from handoff_cli.errors import CliError
from handoff_cli.runner.questions.visible import visible
from handoff_cli.transcripts.likely_secrets import mask_words

_PRIVATE = frozenset(
    {
        *(
            ".env",
            ".envrc",
            ".git",
            ".git-credentials",
            ".pgpass",
            ".ssh",
            ".aws",
            ".azure",
            ".netrc",
            ".npmrc",
            ".pypirc",
            ".kube",
            ".docker",
        ),
        *(".config", ".claude", ".codex", ".gemini", ".gnupg", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"),
    }
)
"""Names of files and directories of which nothing is sent."""
_KEYS = {".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".gpg"}
_MAGIC = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
_UNKNOWN = "application/octet-stream"
_BLOCK = 1024 * 1024
_OVERLAP = 4096
"""Longer than the secrets that are looked for, but for private keys, which their first line gives away."""
_LONGEST_NAME = 255
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe would be waited for.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotSendable(CliError, code="not_sent"):
    """Why a file is not sent, as a sentence for the agent and for people."""


@dataclass(frozen=True)
class OpenedFile:
    """A regular file. `path` is relative to the directory, `sha256` that of the bytes that were checked."""

    descriptor: int
    path: str
    name: str
    media_type: str
    size: int
    sha256: str

    def read(self) -> Iterator[bytes]:
        """Its bytes from the start, never more than were checked; whoever stores them compares the digest."""
        return _blocks(self.descriptor, self.size)


@dataclass(frozen=True)
class TextFile:
    """A text to store as a file."""

    name: str
    content: bytes
    media_type: str = "text/plain"

    @property
    def path(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return len(self.content)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    def read(self) -> Iterator[bytes]:
        """As that of `OpenedFile`."""
        return iter([self.content])


@contextmanager
def opened(directory: Path, path: str, *, limit: int) -> Iterator[OpenedFile]:
    """Open a file below a directory for sending. Raises NotSendable.

    No link on the way is followed, so that nothing outside is sent, whatever is swapped meanwhile.
    """
    names = _names_below(directory, path)
    shown = visible("/".join(names))
    if private := next((name for name in names if _is_private(name)), None):
        raise NotSendable(f"{shown} was not sent: {visible(private)} may hold secrets, which do not belong in a chat.")
    descriptor = _open(directory, names, shown)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise NotSendable(f"{shown} was not sent: it is not a regular file.")
        if not 0 < about.st_size <= limit:
            problem = "it is empty" if not about.st_size else f"it has {megabytes(about.st_size)}"
            raise NotSendable(f"{shown} was not sent: {problem}, and at most {megabytes(limit)} can be sent.")
        digest = _checked(descriptor, about.st_size, shown)
        name = visible(names[-1])[-_LONGEST_NAME:]
        yield OpenedFile(descriptor, shown, name, _media_type(descriptor, names[-1]), about.st_size, digest)
    finally:
        os.close(descriptor)


def megabytes(size: int) -> str:
    """A size for people."""
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{max(1, size // 1000)} kB"


def _names_below(directory: Path, path: str) -> tuple[str, ...]:
    """The names on the way from the directory to the file. Raises NotSendable for a path that leaves it."""
    asked = PurePath(path)
    for base in (PurePath(directory), PurePath(os.path.realpath(directory))):
        if asked.is_absolute() and asked.is_relative_to(base):
            asked = asked.relative_to(base)
    if not asked.parts or asked.is_absolute() or ".." in asked.parts or "\0" in path:
        raise NotSendable(f"It was not sent: only files below {directory} can be sent, by their path in it.")
    return asked.parts


def _is_private(name: str) -> bool:
    plain = name.casefold()
    return plain in _PRIVATE or plain.startswith(".env.") or PurePath(plain).suffix in _KEYS


def _open(directory: Path, names: tuple[str, ...], shown: str) -> int:
    """The descriptor of the file. Raises NotSendable."""
    at = -1
    try:
        at = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for name in names[:-1]:
            above, at = at, os.open(name, _DIRECTORY, dir_fd=at)
            os.close(above)
        return os.open(names[-1], _FILE, dir_fd=at)
    except OSError as error:
        raise NotSendable(f"{shown} was not sent: {_why_closed(error)}") from error
    finally:
        if at >= 0:
            os.close(at)


def _why_closed(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file."
    # A link to a directory is reported as no directory.
    is_link = "a link on its way is not followed" if isinstance(error, NotADirectoryError) else error.strerror
    return f"it cannot be opened ({is_link}). Links are not followed."


def _checked(descriptor: int, size: int, shown: str) -> str:
    """The digest of the bytes. Raises NotSendable if they hold a likely secret, or change while they are read."""
    digest, read, before = hashlib.sha256(), 0, b""
    for block in _blocks(descriptor, size):
        digest.update(block)
        read += len(block)
        # Without zeros, text in UTF-16 reads as in UTF-8.
        text = (before + block).replace(b"\0", b"").decode("utf-8", "replace")
        if mask_words(text)[1]:
            raise NotSendable(
                f"{shown} was not sent: it holds what looks like a secret, which does not belong in a chat."
            )
        before = block[-_OVERLAP:]
    if read != size:
        raise NotSendable(f"{shown} was not sent: it was changed while it was read. Send it again when it is complete.")
    return digest.hexdigest()


def _blocks(descriptor: int, size: int) -> Iterator[bytes]:
    at = 0
    while at < size and (block := os.pread(descriptor, min(_BLOCK, size - at), at)):
        at += len(block)
        yield block


def _media_type(descriptor: int, name: str) -> str:
    """By its name; a picture only if it begins like one."""
    guessed = mimetypes.guess_type(name)[0] or _UNKNOWN
    begins = os.pread(descriptor, 16, 0)
    if guessed in _MAGIC and not begins.startswith(_MAGIC[guessed]):
        return _UNKNOWN
    return guessed
