"""Sessions without their transcripts, and the session that a place leads to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.routes import Place
from shared.domain.sessions import Session


@dataclass(frozen=True)
class SessionPage:
    """Some sessions, newest first, and the cursor of the next page."""

    sessions: Sequence[Session]
    cursor: str | None


class Sessions(Protocol):
    """Sessions without their transcripts. Reads are strongly consistent, except `list`, which may lag by moments."""

    def create(self, session: Session) -> bool:
        """Write a new session; False if its id is taken."""

    def get(self, session_id: str) -> Session | None: ...

    def replace(self, before: Session, after: Session) -> Session:
        """Write `after` if the session is still as `before`; returns it with its new version. Raises Conflict."""

    def list(self, user_id: str, *, limit: int, cursor: str | None = None) -> SessionPage: ...

    def delete(self, session: Session) -> None:
        """Remove the session and all its data. Safe to repeat. Raises Conflict if it changed since it was read."""

    def delete_all_of(self, user_id: str) -> None:
        """Remove every session of a user with all its data, whatever is under way, and all handoffs. Safe to repeat."""

    def at(self, place: Place) -> str | None:
        """The id of the session that this place's route points to; the session may live elsewhere (see its owner)."""
