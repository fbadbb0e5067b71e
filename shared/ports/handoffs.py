"""Handoffs and every transition that one may make."""

from collections.abc import Sequence
from typing import Protocol

from shared.domain.handoffs import Handoff, Reason, Step, Thread


class Handoffs(Protocol):
    """Handoffs and their transitions; each method is one conditional write or one transaction.

    A transition that others were quicker at returns None (nothing was written); what the caller must know raises.
    """

    def request(self, handoff: Handoff, *, now: int) -> Handoff:
        """Write a new pending handoff and mark its session, or return the one that the same id and body wrote before.

        Raises IdempotencyKeyReused, UnknownSession, Moved, HandoffInFlight, SessionBusy.
        """

    def get(self, handoff_id: str) -> Handoff | None: ...
    def list(self, user_id: str, *, session_id: str | None, state: str | None, limit: int) -> Sequence[Handoff]: ...

    def claim(self, handoff_id: str, *, claimant: str, now: int, lease_until: int) -> Handoff | None:
        """pending → running for one claimant; a repeat by the winner wins again."""

    def step(
        self, handoff: Handoff, step: Step, *, now: int, thread: Thread | None = None, notice: str | None = None
    ) -> Handoff | None:
        """Journal a step under the handoff's fence: an intent before an outside effect, its result right after."""

    def kickoff_sent(self, handoff: Handoff, *, now: int) -> Handoff | None:
        """From here the queue carries the work: the lease runs to the deadline."""

    def complete(self, handoff: Handoff, *, now: int) -> Handoff | None:
        """confirmed and delivered → completed; frees the session and clears an attempt's error."""

    def fail(self, handoff: Handoff, reason: Reason, *, now: int, rejected_delivery: bool = False) -> Handoff | None:
        """→ failed; the session is free and back where it came from. A confirmed one fails only on a rejected delivery."""

    def expire(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        """→ failed by the sweep: past its deadline (or out of attempts), lease over, fence as read, not confirmed."""

    def cancel(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        """→ cancelled, while it is open and the session has not moved."""

    def back_to_pending(
        self, handoff: Handoff, reason: Reason, *, now: int, not_before: int, counts: bool, abandoned: bool = False
    ) -> Handoff | None:
        """running → pending for another attempt; a rate limit counts none. `abandoned`: only if its lease is over."""

    def nudge(self, handoff: Handoff, *, now: int) -> bool:
        """Touch a pending handoff so that the stream shows it again."""

    def drive(self, handoff: Handoff, *, now: int) -> bool:
        """Note that a kickoff that was sent, or its delivery, is looked after now; one sweep of several wins."""

    def due(self, *, now: int, limit: int) -> Sequence[Handoff]:
        """Open handoffs that the sweep should look at, soonest first; as of moments ago, so every write re-checks."""
