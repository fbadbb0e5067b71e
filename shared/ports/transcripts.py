"""The messages of sessions."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from shared.domain.messages import Message
from shared.domain.sessions import Session


class Transcripts(Protocol):
    """The ordered messages of sessions, stored in chunks that are never rewritten."""

    def append(self, session: Session, messages: Sequence[Message], *, now: int, uploaded: int = 0) -> Session:
        """Add messages behind those that `session` had when it was read. Raises Conflict if it changed since.

        `uploaded` bytes of them count towards the user's limit.
        """

    def load(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Iterator[Message]:
        """The messages behind the first `after`, in order."""
