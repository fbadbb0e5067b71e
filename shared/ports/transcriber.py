"""Transcriber: recordings of people become words."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

LONGEST_WORDS = 16_000
"""Characters of one recording: more was not said in a voice message."""


@dataclass(frozen=True)
class Recording:
    """A voice message, as a file that is there while it is transcribed. Name and type are what the platform says."""

    path: Path
    name: str
    media_type: str


class Transcriber(Protocol):
    """Called in the process that runs the agent, at the same time for several people."""

    def words(self, recording: Recording, *, seconds: float) -> str:
        """What was said, within so many seconds, at most LONGEST_WORDS long.

        Raises NotTranscribed, with a reason for the person.
        """


def checked_words(text: object) -> str | None:
    """The words in an answer; None if it is no text, or longer than anybody speaks."""
    if not isinstance(text, str) or len(text) > LONGEST_WORDS:
        return None
    return " ".join(text.split())
