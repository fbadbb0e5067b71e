"""Turns that run on a user's own machine: what its runner writes, and who takes the turn back."""

from collections.abc import Sequence
from typing import Protocol

from shared.domain.offers import Offer
from shared.domain.progress import Progress
from shared.domain.sessions import Executor, Session
from shared.ports.inbox import InboxRow


class MachineTurns(Protocol):
    """The part of a turn's life that only machines have. Each method is one conditional write or one transaction.

    offered ──claim──> claimed(fence, lease) ──begin──> begun ──(Turns.commit)──> over
       ^                  │ lease over, or the same machine after a restart: claimed again, with a greater fence
       └── offered again <┴──withdraw──> over; its words stay new
    """

    def claim(
        self,
        session: Session,
        rows: Sequence[InboxRow],
        *,
        claim_id: str,
        now: int,
        lease_until: int,
        previous_fence: int | None = None,
    ) -> Session:
        """Claim the session's turn for its runner, if no process works on it, it is as read and its `rows` are new.

        With `previous_fence` the turn's present fence, also while the lease runs: the runner was restarted and holds its
        local lock. Nothing has begun yet. A repeat with the same `claim_id` succeeds again. Raises Conflict, also for a
        runner that is revoked or not the session's.
        """

    def begin(self, session: Session, *, lease_until: int) -> bool:
        """Count a run of the claimed turn and mark the agent's own session as unfinished. Once per fence.

        False if the turn is over or has another fence.
        """

    def steer(self, session: Session, row: InboxRow) -> bool:
        """Let the session's turn answer one more row, which must be new. Safe to repeat.

        False if the turn is over, changed since it was read, is full or is a kickoff, and for another user's row unless
        the session is shared.
        """

    def acknowledge(self, offer: Offer, rows: Sequence[str]) -> None:
        """The runner has given these rows to its agent. Safe to repeat."""

    def report(self, offer: Offer, progress: Progress) -> bool:
        """Store a report; False if a newer one is stored, or the turn is settled."""

    def choose(self, session: Session, executor: Executor, *, now: int) -> Session:
        """Set who answers from now on. A turn of the other one that no process works on is over; its rows stay new.

        Raises Conflict if the session changed since it was read.
        """

    def withdraw(self, session: Session, *, now: int, marks_kickoff: bool = False) -> bool:
        """End a turn that no process works on, so that it is offered again; False if it changed since it was read.

        `marks_kickoff`: the deployment's agent confirms the handoff instead.
        """

    def told_away(self, offer: Offer) -> bool:
        """Note that the user is told that the machine is away: once for each turn. False if that was noted before."""
