"""Attachments: what a message carries that is not text, by kind and number, and the words for it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

OTHER = "other"
VOICE = "voice"
KINDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "picture": ("a picture", "pictures"),
        "file": ("a file", "files"),
        VOICE: ("a voice message", "voice messages"),
        "audio": ("an audio file", "audio files"),
        "video": ("a video", "videos"),
        "animation": ("an animation", "animations"),
        "sticker": ("a sticker", "stickers"),
        "location": ("a location", "locations"),
        "contact": ("a contact", "contacts"),
        "poll": ("a poll", "polls"),
        OTHER: ("something that is not text", "messages of this kind"),
    }
)
"""Each kind, and the words for one and for several."""
_BY_MEDIA_TYPE = {"image": "picture", "audio": "audio", "video": "video"}


@dataclass(frozen=True)
class Attachment:
    """One or several things of one kind. Raises ValueError for an unknown kind and for none."""

    kind: str
    count: int = 1

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.count < 1:
            raise ValueError("not an attachment")


def counted(kinds: Iterable[str]) -> tuple[Attachment, ...]:
    """The attachments of a message from the kind of each, in the order of their first ones."""
    return tuple(Attachment(kind, count) for kind, count in Counter(kinds).items())


def kind_of_media(media_type: object) -> str:
    """The kind of a file with this media type, such as `image/png`."""
    return _BY_MEDIA_TYPE.get(media_type.partition("/")[0], "file") if isinstance(media_type, str) else "file"


def cannot_read(attachments: Sequence[Attachment], *, has_text: bool) -> str:
    """The line for the sender of a message with these attachments."""
    kinds = _listed([KINDS[attachment.kind][1] for attachment in attachments])
    if has_text:
        return f"I cannot read {kinds} yet: the agent gets only the text."
    return f"I cannot read {kinds} yet. Write it as text."


def note_for_agent(attachments: Sequence[Attachment]) -> str:
    """The line for the agent below the text of a message with these attachments; empty without any."""
    if not attachments:
        return ""
    named = _listed([_counted_words(attachment) for attachment in attachments])
    is_one = len(attachments) == 1 and (attachments[0].count == 1 or attachments[0].kind == OTHER)
    return f"[{named} {'was' if is_one else 'were'} attached, which did not reach you]"


def _counted_words(attachment: Attachment) -> str:
    one, several = KINDS[attachment.kind]
    if attachment.kind == OTHER or attachment.count == 1:
        return one
    return f"{attachment.count} {several}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
