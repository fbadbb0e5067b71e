"""A turn's commit, and the journal of its delivery."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from shared.domain.handoffs import Handoff, Receipt
from shared.domain.messages import Message
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.ports.inbox import InboxRow
from shared.ports.platforms import Part


@dataclass(frozen=True)
class OutPart:
    """One part of a committed reply in the delivery journal: waiting → sending → sent, or rejected."""

    session_id: str
    turn_id: str
    number: int
    place: Place
    part: Part
    state: Literal["waiting", "sending", "sent", "rejected"] = "waiting"
    message_id: str | None = None
    sending_until: int = 0

    @property
    def key(self) -> str:
        """What makes a send of this part recognisable to the platform."""
        return f"{self.turn_id}#{self.number}"


@dataclass(frozen=True)
class TurnCommit:
    """All that one turn writes, at once or not at all."""

    session: Session
    messages: Sequence[Message]
    turn_id: str
    parts: Sequence[OutPart]
    rows: Sequence[InboxRow] = ()
    handoff: Handoff | None = None
    receipt: Receipt | None = None


class Turns(Protocol):
    """One turn per session at a time, its commit, and the journal of its delivery."""

    def commit(self, commit: TurnCommit, *, now: int) -> Session:
        """Messages, rows done, journal and (for a kickoff) `confirmed`, in one transaction; ends the turn.

        Raises Conflict unless the session still is where and as the turn found it, under this very turn.
        """

    def extend(self, session: Session, *, until: int) -> bool:
        """Keep the lease of the turn that `session` is under; False if it is no longer this turn's."""

    def post(self, parts: Sequence[OutPart], *, now: int) -> None:
        """Put words of ours into the journal, without a turn. Parts that are there already stay as they are."""

    def journal(self, session_id: str, turn_id: str) -> Sequence[OutPart]:
        """The parts of a committed turn, in order; empty if it was never committed."""

    def sending(self, part: OutPart, *, now: int, until: int) -> OutPart | None:
        """Note the intent to send; None if it is sent already or somebody is sending it now."""

    def sent(self, part: OutPart, message_id: str) -> None: ...
    def rejected(self, part: OutPart) -> None: ...

    def unsent(self, part: OutPart) -> None:
        """Take the intent back: it surely was not sent."""
