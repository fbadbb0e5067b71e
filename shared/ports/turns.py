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
    """Everything that one turn writes, in one transaction. `suspends`: the session is given up with this turn."""

    session: Session
    messages: Sequence[Message]
    turn_id: str
    parts: Sequence[OutPart]
    rows: Sequence[InboxRow] = ()
    handoff: Handoff | None = None
    receipt: Receipt | None = None
    suspends: bool = False


class Turns(Protocol):
    """One turn per session at a time: its lease and its commit."""

    def commit(self, commit: TurnCommit, *, now: int) -> Session:
        """Write messages, done rows, outbox and (for a kickoff) `confirmed` in one transaction; ends the turn.

        Raises Conflict if the session moved or changed since the turn read it, or its lease belongs to another turn.
        """

    def extend(self, session: Session, *, until: int) -> bool:
        """Extend the lease of the session's turn; False if the lease belongs to another turn."""
