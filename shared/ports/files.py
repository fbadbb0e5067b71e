"""Files: bytes outside the tables, by key, for one deployment."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from shared.errors import FileMismatch

UPLOAD_SECONDS = 300


@dataclass(frozen=True)
class Upload:
    """A request that stores one file: PUT `url` with exactly these headers, until `expires_at` (ms).

    A `url` that begins with a slash is a path of the service itself.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str]
    expires_at: int


class Files(Protocol):
    """Stored bytes. A key is `<user>/<session>/<sha256 in hex>`; equal bytes of two sessions are two files.

    Bytes are streamed: no call holds a whole file in memory. `put` and an upload check size and digest and leave nothing
    behind that does not fit them.
    """

    def put(self, key: str, content: Iterable[bytes], *, size: int, media_type: str) -> None:
        """Store a file whole; repeating it is safe. Raises FileMismatch if the bytes are not those of the key and size."""

    def get(self, key: str) -> Iterator[bytes]:
        """The bytes of a file. Raises FileMissing before the first of them."""

    def copy(self, source: str, target: str) -> None:
        """Store the bytes of a file under another key with its digest, too. Repeating it is safe. Raises FileMissing."""

    def size(self, key: str) -> int | None:
        """The size of a stored file; None if it is not there."""

    def upload(self, key: str, *, size: int, media_type: str, now: int) -> Upload:
        """A request by which a client stores the file itself, for five minutes, bound to size and digest."""

    def download_url(self, key: str, *, name: str, media_type: str, now: int) -> str | None:
        """A URL that gives the file to its one reader for a minute; None where the service sends the bytes itself."""

    def delete(self, prefix: str) -> None:
        """Delete the file of this key, or all below `<user>/` or `<user>/<session>/`. Repeating it is safe."""


def digest_of(key: str) -> str:
    """The digest that a key ends with."""
    return key.rpartition("/")[2]


def spooled(key: str, content: Iterable[bytes], write: Callable[[bytes], object], *, size: int) -> None:
    """Write all of `content`. Raises FileMismatch as soon as it cannot be that of the key any more."""
    digest, count = hashlib.sha256(), 0
    for chunk in content:
        count += len(chunk)
        if count > size:
            raise FileMismatch
        digest.update(chunk)
        write(chunk)
    if count != size or digest.hexdigest() != digest_of(key):
        raise FileMismatch
