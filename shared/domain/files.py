"""Files in chats: one of a person's message at its platform, and one to post there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from shared.domain.attachments import KINDS
from shared.domain.messages import whole

MAX_NAME = 255
_MAX_REFERENCE = 2000
_MAX_TYPE = 127


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
        return self.media_type in {"image/png", "image/jpeg", "image/gif", "image/webp"}
