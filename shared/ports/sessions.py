"""Sessions without their transcripts, and which place leads to which."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.routes import Place
from shared.domain.sessions import Session


@dataclass(frozen=True)
class SessionPage:
    """Some sessions, newest first, and where to go on."""

    sessions: Sequence[Session]
    cursor: str | None


class Sessions(Protocol):
    """Sessions without their transcripts. Reads are strongly consistent, except `list`, which may lag by moments."""

    def create(self, session: Session) -> bool:
        """Write a new session; False if its id is taken."""

    def get(self, session_id: str) -> Session | None: ...

    def replace(self, before: Session, after: Session) -> Session:
        """Write `after` if nothing was written since `before` was read; returns it with its new version. Raises Conflict."""

    def list(self, user_id: str, *, limit: int, cursor: str | None = None) -> SessionPage: ...

    def delete(self, session: Session) -> None:
        """Remove the session with all that belongs to it. Safe to repeat. Raises Conflict if it changed since it was read."""

    def at(self, place: Place) -> str | None:
        """The id of the session that this place's route points to (it lives where its owner says)."""
