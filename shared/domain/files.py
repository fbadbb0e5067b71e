"""Files: one of a person's message at its platform, one that is stored with its session, and one to post."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.domain.attachments import KINDS
from shared.domain.messages import whole

MAX_NAME = 255
_MAX_REFERENCE = 2000
_MAX_TYPE = 127
_MAX_SHOWN = 100
_MAX_ENDING = 10
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,62}/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
ANY_TYPE = "application/octet-stream"
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""The types that models and platforms take as pictures."""
MOST_FILES = 10
"""Of one message."""


@dataclass(frozen=True)
class ChatFile:
    """A file of a person's message, as the platform announced it: nothing of it has been read yet.

    `reference` is what the adapter needs to fetch it: an id, never a URL that holds a secret. `name`, `media_type` and
    `size` are the sender's words: unchecked, empty or None where the platform does not tell. Raises ValueError or
    TypeError for what no platform sends.
    """

    kind: str
    reference: str = field(repr=False)
    name: str = ""
    media_type: str = ""
    size: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS or not 0 < len(self.reference) <= _MAX_REFERENCE:
            raise ValueError("not a file that a platform would send")
        if self.size is not None and (isinstance(self.size, bool) or self.size < 0):
            raise ValueError("not a size that a platform would send")
        object.__setattr__(self, "name", whole(self.name)[:MAX_NAME])
        object.__setattr__(self, "media_type", whole(self.media_type)[:_MAX_TYPE])


@dataclass(frozen=True)
class OutFile:
    """A file to post. `read` gives its bytes from the start, each time that it is called."""

    name: str
    media_type: str
    size: int
    read: Callable[[], Iterator[bytes]] = field(repr=False)

    @property
    def is_picture(self) -> bool:
        """Whether platforms show it as a picture."""
        return self.media_type in PICTURES


@dataclass(frozen=True)
class StoredFile:
    """A file of a session. Its id is its digest, which says nothing outside of the session. `name` and type are unchecked."""

    id: str
    name: str
    media_type: str
    size: int

    @property
    def is_picture(self) -> bool:
        return self.media_type in PICTURES

    @property
    def described(self) -> str:
        """Its name, type and size, for a person or an agent."""
        return f"{self.name} ({self.media_type}, {size_text(self.size)})"

    def value(self) -> dict[str, Any]:
        """As a message carries it."""
        named = {"id": self.id, "name": self.name, "type": self.media_type}
        return {**named, "size": self.size, "sha256": self.id}


@dataclass(frozen=True)
class Unread:
    """A file of a message that did not reach the agent, and why: a clause such as `it is larger than 25 MB`."""

    name: str
    reason: str

    def value(self) -> dict[str, Any]:
        return {"name": self.name, "reason": self.reason}


@dataclass(frozen=True)
class Spoken:
    """The words of a voice message, as they were understood: never a command, nor an answer to a question."""

    words: str

    def value(self) -> dict[str, Any]:
        return {"words": self.words}


Read = StoredFile | Unread | Spoken
"""What became of a file of a message."""


def spoken_of(files: Sequence[Read]) -> str:
    """The words of all voice messages among them."""
    return "\n\n".join(file.words for file in files if isinstance(file, Spoken))


def note_on_files(files: Sequence[Read]) -> str:
    """The lines for the agent that name the files of a message, after the words that were spoken in it."""
    came = [file.described for file in files if isinstance(file, StoredFile)]
    spoken = spoken_of(files)
    lines = [f"[spoken, as it was understood:]\n{spoken}"] if spoken else []
    lines += [f"[attached: {', '.join(came)}]"] if came else []
    lines += [
        f"[{file.name} was attached, which did not reach you: {file.reason}]"
        for file in files
        if isinstance(file, Unread)
    ]
    return "\n".join(lines)


def told_unread(files: Sequence[Read]) -> str:
    """The line for the sender of these files; empty if all of them came."""
    lines = [f"{file.name} did not reach the agent: {file.reason}." for file in files if isinstance(file, Unread)]
    return "\n".join(lines)


def stored_file(value: object) -> StoredFile | None:
    """The file that a message names; None if the entry cannot be read."""
    if not isinstance(value, Mapping):
        return None
    id_, name, media_type, size = (value.get(key) for key in ("id", "name", "type", "size"))
    if not isinstance(id_, str) or not isinstance(name, str) or not isinstance(media_type, str):
        return None
    if not _DIGEST.fullmatch(id_) or isinstance(size, bool) or not isinstance(size, int) or size < 0:
        return None
    return StoredFile(id_, safe_name(name), safe_type(media_type), size)


def files_of(message: Mapping[str, Any]) -> list[StoredFile]:
    """The files of a message that can be read."""
    entries = message.get("files")
    return [found for entry in entries if (found := stored_file(entry))] if isinstance(entries, list) else []


def safe_name(name: str) -> str:
    """A name without directories, control and invisible characters, at most 100 characters, with its ending kept."""
    last = re.split(r"[/\\]", whole(name))[-1]
    shown = "".join(each for each in last if unicodedata.category(each)[0] != "C" and each not in "\u2028\u2029")
    shown = " ".join(shown.split()).lstrip(".").strip()
    stem, dot, ending = shown.rpartition(".")
    if dot and stem and len(ending) <= _MAX_ENDING:
        return f"{stem[: _MAX_SHOWN - len(ending) - 1]}.{ending}"
    return shown[:_MAX_SHOWN] or "file"


def safe_type(media_type: str) -> str:
    """A media type without parameters; ANY_TYPE for a text that is none."""
    found = media_type.partition(";")[0].strip().lower()
    return found if _MEDIA_TYPE.fullmatch(found) else ANY_TYPE


def size_text(size: int) -> str:
    """A size for people."""
    if size < 1000:  # a kB
        return f"{size} bytes"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"  # a MB
