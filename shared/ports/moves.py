"""Moves of a session from one place to another."""

from typing import Protocol

from shared.domain.handoffs import Handoff
from shared.domain.offers import Offer
from shared.domain.routes import Place
from shared.domain.sessions import Session


class Moves(Protocol):
    """Moves of a session; each is one transaction that sets route and owner and adds 1 to the epoch.

    A session arrives unshared, except in the thread of a handoff with `share`.
    """

    def rebind(self, handoff: Handoff, kickoff: Offer, *, now: int, machine_is_away: bool = False) -> Handoff | None:
        """Move the session into the handoff's thread and offer its kickoff turn; a turn that it had is over.

        `machine_is_away`: the deployment's agent confirms in the place of the user's own, and the session notes it.
        None if the handoff's fence or state changed. Raises Moved if the session moved since the request, PlaceBusy if
        another session lives in the thread: another user's, or the same user's and the handoff does not say `replace`.
        Raises Conflict if the place changed.
        """

    def to_terminal(self, session: Session, *, now: int) -> Session:
        """Move the session back to its terminal; a handoff in flight ends as cancelled in the same transaction.

        Raises Conflict if the session changed since it was read.
        """

    def to_chat(self, session: Session, place: Place, link: str, *, now: int) -> Session:
        """Move the session to a chat; the user's own session there returns to its terminal.

        A handoff in flight ends as cancelled. Raises PlaceBusy if another user's session lives there, Conflict if the
        session or the place changed since they were read.
        """
