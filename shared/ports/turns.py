"""A turn's lease and commit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.handoffs import Handoff, Receipt
from shared.domain.messages import Message
from shared.domain.sessions import Session
from shared.ports.inbox import InboxRow
from shared.ports.outbox import OutPart


@dataclass(frozen=True)
class TurnCommit:
    """Everything that one turn writes, in one transaction."""

    session: Session
    messages: Sequence[Message]
    turn_id: str
    parts: Sequence[OutPart]
    rows: Sequence[InboxRow] = ()
    handoff: Handoff | None = None
    receipt: Receipt | None = None


class Turns(Protocol):
    """One turn per session at a time: its lease and its commit."""

    def commit(self, commit: TurnCommit, *, now: int) -> Session:
        """Messages, rows done, journal and (for a kickoff) `confirmed`, in one transaction; ends the turn.

        Raises Conflict unless the session still is where and as the turn found it, under this very turn.
        """

    def extend(self, session: Session, *, until: int) -> bool:
        """Keep the lease of the turn that `session` is under; False if it is no longer this turn's."""
