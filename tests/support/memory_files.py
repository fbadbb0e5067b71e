"""The `Files` port in memory; the tests of its contract run on it, too."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from shared.errors import FileMissing
from shared.ports.files import UPLOAD_SECONDS, Upload, spooled


@dataclass
class MemoryFiles:
    """Bytes by key. `uploads` are the URLs that were given out, with their keys and sizes."""

    stored: dict[str, bytes] = field(default_factory=dict)
    uploads: dict[str, tuple[str, int]] = field(default_factory=dict)

    def put(self, key: str, content: Iterable[bytes], *, size: int, media_type: str) -> None:  # noqa: ARG002  # memory has no types
        whole = bytearray()
        spooled(key, content, whole.extend, size=size)
        self.stored[key] = bytes(whole)

    def get(self, key: str) -> Iterator[bytes]:
        if key not in self.stored:
            raise FileMissing("no such file")
        return iter([self.stored[key]])

    def copy(self, source: str, target: str) -> None:
        (self.stored[target],) = self.get(source)

    def size(self, key: str) -> int | None:
        return len(self.stored[key]) if key in self.stored else None

    def upload(self, key: str, *, size: int, media_type: str, now: int) -> Upload:
        url = f"/uploads/{len(self.uploads)}"
        self.uploads[url] = (key, size)
        return Upload(url, {"Content-Length": str(size), "Content-Type": media_type}, now + UPLOAD_SECONDS * 1000)

    def take(self, url: str, content: bytes) -> None:
        """What a client does with an upload."""
        key, size = self.uploads[url]
        self.put(key, [content], size=size, media_type="")

    def download_url(self, key: str, *, name: str, media_type: str, now: int) -> str | None:  # noqa: ARG002  # likewise
        return None

    def delete(self, prefix: str) -> None:
        for key in [key for key in self.stored if key == prefix or (prefix.endswith("/") and key.startswith(prefix))]:
            del self.stored[key]
