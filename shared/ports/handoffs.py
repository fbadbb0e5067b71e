"""Handoffs and their transitions."""

from collections.abc import Sequence
from typing import Protocol

from shared.domain.handoffs import Handoff, Reason, Step, Thread
from shared.domain.sessions import Session


class Handoffs(Protocol):
    """Handoffs and their transitions; each method is one conditional write or one transaction.

    A transition whose conditions do not hold writes nothing and returns None; errors that the caller must handle are raised.
    """

    def request(self, handoff: Handoff, *, now: int) -> Handoff:
        """Write a new pending handoff and mark its session; a repeat with the same id and body returns the first one.

        A session in a chat loses a turn that no executor works on; its words stay new. The row of the `command` that asks,
        if one does, must be new. Raises IdempotencyKeyReused, UnknownSession, Moved, HandoffInFlight, SessionBusy, and
        Conflict if that row was closed.
        """

    def get(self, handoff_id: str) -> Handoff | None: ...

    def list(self, user_id: str, *, session_id: str | None, state: str | None, limit: int) -> Sequence[Handoff]:
        """A user's handoffs, newest first; the newest may be missing for moments."""

    def claim(self, handoff_id: str, *, claimant: str, now: int, lease_until: int) -> Handoff | None:
        """pending → running for one claimant; a repeat by the same claimant succeeds again."""

    def step(
        self, handoff: Handoff, step: Step, *, now: int, thread: Thread | None = None, notice: str | None = None
    ) -> Handoff | None:
        """Record a step under the handoff's fence: an intent before an external effect, its result right after."""

    def complete(self, handoff: Handoff, *, now: int) -> Handoff | None:
        """confirmed and delivered → completed; releases the session and clears the error of an earlier attempt."""

    def fail(self, handoff: Handoff, reason: Reason, *, now: int, rejected_delivery: bool = False) -> Handoff | None:
        """→ failed; the session returns to where it came from. A confirmed handoff fails only on a rejected delivery."""

    def fail_kickoff(
        self, handoff: Handoff, reason: Reason, *, session: Session, now: int, abandoned: bool = False
    ) -> Handoff | None:
        """→ failed by the executor that holds the kickoff's turn, as `session` has it; `abandoned`: while none holds it.

        None if the handoff has ended or is confirmed. Raises Conflict if the turn is over or another executor's.
        """

    def expire(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        """→ failed by the sweep: past its deadline or out of attempts, lease over, fence as read, not confirmed."""

    def cancel(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        """→ cancelled, while it is open and the session has not moved."""

    def back_to_pending(
        self, handoff: Handoff, reason: Reason, *, now: int, not_before: int, counts: bool, abandoned: bool = False
    ) -> Handoff | None:
        """running → pending for another attempt; a rate limit counts none. `abandoned`: only if its lease is over."""

    def nudge(self, handoff: Handoff, *, now: int) -> bool:
        """Touch a pending handoff so that the stream shows it again."""

    def drive(self, handoff: Handoff, *, now: int) -> bool:
        """Reserve a confirmed handoff that is not completed for the caller; one of several sweeps succeeds."""

    def due(self, *, now: int, limit: int) -> Sequence[Handoff]:
        """Open handoffs for the sweep, the earliest first. The list may lag by moments: every write checks again."""
