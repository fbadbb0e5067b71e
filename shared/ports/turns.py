"""Turns: offered, claimed by an executor, committed under a fence, settled."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.handoffs import Handoff, Receipt
from shared.domain.messages import Message
from shared.domain.offers import Offer, Result
from shared.domain.sessions import Interruption, Session
from shared.ports.inbox import InboxRow
from shared.ports.outbox import OutPart


@dataclass(frozen=True)
class TurnCommit:
    """Everything that ends one turn with a reply, in one transaction.

    `session` names the turn and its fence. `suspends`: the session is given up with this turn. `abandoned`: the writer is
    not the turn's executor, so no executor may work on it. `result` is set by a machine: its agent has seen all of it.
    """

    session: Session
    messages: Sequence[Message]
    journal: str
    parts: Sequence[OutPart]
    rows: Sequence[InboxRow] = ()
    handoff: Handoff | None = None
    receipt: Receipt | None = None
    suspends: bool = False
    abandoned: bool = False
    result: Result | None = None


class Turns(Protocol):
    """One turn per session at a time. Each method but the reading ones is one conditional write or one transaction.

    offer ──> offered ──claim──> claimed(fence, lease) ──commit──> over ──settled──> removed
                 ^                   │ renew: the lease again
                 └────hand_back──────┤ lease over: may be claimed again, with a greater fence
                                     └──end, or any move of the session──> over
    """

    def offer(
        self,
        session: Session,
        offer: Offer,
        *,
        rows: Sequence[InboxRow] = (),
        accepted: InboxRow | None = None,
        handoff: Handoff | None = None,
    ) -> Session:
        """Give a session that is as it was read, and has no turn, a turn that any executor may claim.

        It answers `rows`, which must be new (other users' only while the session is shared), or an `accepted` row, which
        is written with it, or the kickoff of an open, bound and unconfirmed `handoff`. Raises Conflict.
        """

    def get(self, session_id: str, turn_id: str) -> Offer | None:
        """The offer of a turn that is not settled yet."""

    def unsettled(self, session_id: str) -> Sequence[Offer]:
        """Offers of a session, oldest first: of its turn, and of turns that are over and not settled.

        Read them before the session: one that the session does not name afterwards is over for good.
        """

    def claim(
        self, session: Session, rows: Sequence[InboxRow], *, claim_id: str, now: int, lease_until: int
    ) -> Session:
        """Claim and begin the session's turn, if no executor works on it, it is as read and its `rows` are new.

        For the deployment's agent: a machine's turn is a Conflict. A repeat with the same `claim_id` succeeds again. A run
        that was killed is marked for the next one, except a kickoff's (no rows). Raises Conflict.
        """

    def renew(self, session: Session, *, lease_until: int) -> bool:
        """Extend the lease of the session's turn; False if that is over or has another fence."""

    def hand_back(
        self, session: Session, *, now: int, until: int, interrupted: Interruption | None, marks: bool = True
    ) -> bool:
        """claimed → offered by its executor, which stops; it may be claimed again from `until` on.

        Without an interruption the run counts as a try only; with one, the session is marked for the next run if it
        `marks`. False if the turn is over or has another fence.
        """

    def commit(self, commit: TurnCommit, *, now: int) -> Session:
        """Write messages, done rows, outbox and (for a kickoff) `confirmed` in one transaction; the turn is over.

        Raises Conflict if the turn is over or has another fence, a row is done, or the transcript changed.
        """

    def end(self, session: Session, *, now: int) -> bool:
        """End the session's turn without a reply, whoever works on it; False if it is over already."""

    def settled(self, offer: Offer) -> None:
        """Remove the offer of a turn that is over and delivered; a machine's is kept for a while. Safe to repeat."""

    def due(self, *, now: int, limit: int) -> Sequence[Offer]:
        """Offers for the sweep, the earliest first. The list may lag by moments."""

    def postpone(self, offer: Offer, *, until: int, nudged_fence: int | None = None) -> bool:
        """Let the sweep look at an offer again at `until`. With a fence, count a nudge: one of several sweeps succeeds."""
