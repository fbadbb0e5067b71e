"""Handoffs: each transition is one conditional write or one transaction.

    request ──> pending ──claim──> running ──steps, rebind──> (turn) ──confirm──> ──> completed
                   ^  └─nudge         │ lease over, or a retryable error
                   └──back_to_pending─┘
                pending | running ──fail, expire──> failed       pending | running ──cancel, resume──> cancelled

A claim takes a fence and a lease. A claimant with an older fence fails at its next write:

    p1  claim(fence 1) ── open thread ────────── (frozen) ─────────────── step fails, the fence is 2
    p2              lease ends, a wake-up or the sweep ── claim(fence 2) ── adopts the thread ── rebind ──>
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shared.domain.handoffs import MAX_ATTEMPTS, Handoff, Reason, State, Step, Thread
from shared.domain.orders import Order
from shared.domain.sessions import Session
from shared.ports.conditions import Condition, at_least, at_most, either, equals, more_than
from shared.ports.tables import ConditionFailed, Table, Tables, Update
from shared.store import handoff_queries, requests
from shared.store.endings import end
from shared.store.handoff_items import handoff_of, reason_value, thread_value
from shared.store.keys import handoff_key
from shared.store.session_items import CLAIMED
from shared.store.transitions import (
    CONFIRMED_DUE_AFTER,
    KEEP_SECONDS,
    NOT_DUE,
    NUDGE_AFTER,
    allowed,
    bound_as_read,
    ended_by,
    fence_is_mine,
    leads_to,
    no_executor,
    not_bound,
    unconfirmed,
)
from shared.store.turns import is_at_fence


class Handoffs:
    """Handoffs and their transitions; each method is one conditional write or one transaction.

    A transition whose conditions do not hold writes nothing and returns None; errors that the caller must handle are raised.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def request(self, handoff: Handoff, *, now: int, order: Order | None = None) -> Handoff:
        """Write a new pending handoff and mark its session; a repeat with the same id and body returns the first one.

        A session in a chat loses a turn that no executor works on; its rows stay new. The row of the `command` that asks,
        if one does, must be new. With an `order`, that is done with this handoff, and only one order can be. Raises
        IdempotencyKeyReused, UnknownSession, Moved, HandoffInFlight, SessionBusy, and Conflict if that row was closed or the
        order is over.
        """
        return requests.request(self._tables, handoff, now=now, order=order)

    def get(self, handoff_id: str) -> Handoff | None:
        item = self._tables.get(Table.HANDOFFS, handoff_key(handoff_id))
        return handoff_of(item) if item else None

    def list(self, user_id: str, *, session_id: str | None, state: str | None, limit: int) -> Sequence[Handoff]:
        """A user's handoffs, newest first; the newest may be missing for moments. A filter looks at a thousand of them."""
        return handoff_queries.list_handoffs(self._tables, user_id, session_id=session_id, state=state, limit=limit)

    def due(self, *, now: int, limit: int) -> Sequence[Handoff]:
        """Open handoffs for the sweep, the earliest first. The list may lag by moments: every write checks again."""
        return handoff_queries.due_handoffs(self._tables, now=now, limit=limit)

    def claim(self, handoff_id: str, *, claimant: str, now: int, lease_until: int) -> Handoff | None:
        """pending → running for one claimant; a repeat by the same claimant succeeds again."""
        may_start = at_most("not_before", now)
        in_time = more_than("deadline", now)
        write = Update(
            Table.HANDOFFS,
            handoff_key(handoff_id),
            when=[allowed("claim"), may_start, in_time],
            set={
                **leads_to("claim"),
                "claimant": claimant,
                "lease_until": lease_until,
                "due_at": lease_until,
                "updated_at": now,
            },
            first={f"steps.{Step.CLAIMED}": now},
            add={"fence": 1},
        )
        try:
            return handoff_of(self._tables.update(write))
        except ConditionFailed as failed:
            current = failed.items[0]
            if not current:
                return None
            answer_was_lost = current["state"] == State.RUNNING and current.get("claimant") == claimant
            return handoff_of(current) if answer_was_lost else None

    def step(
        self, handoff: Handoff, step: Step, *, now: int, thread: Thread | None = None, notice: str | None = None
    ) -> Handoff | None:
        """Record a step under the handoff's fence: an intent before an external effect, its result right after."""
        result: dict[str, Any] = {"updated_at": now}
        if thread is not None:
            result["thread"] = thread_value(thread)
        if notice is not None:
            result["notice"] = notice
        return self._update(
            handoff,
            when=[allowed("step"), fence_is_mine(handoff)],
            set=result,
            first={f"steps.{step}": now},
        )

    def complete(self, handoff: Handoff, *, now: int) -> Handoff | None:
        """confirmed and delivered → completed; releases the session and clears the error of an earlier attempt."""
        ended = {
            **leads_to("complete"),
            f"steps.{Step.COMPLETED}": now,
            "error": None,
            "updated_at": now,
            "expires_at": now // 1000 + KEEP_SECONDS,
            **NOT_DUE,
        }
        may_complete = [allowed("complete"), equals("confirmed", value=True)]
        if not end(self._tables, handoff, may_complete, ended, now=now, first={f"steps.{Step.DELIVERED}": now}):
            return None
        steps = {Step.DELIVERED.value: now, **handoff.steps, Step.COMPLETED.value: now}
        return replace(handoff, state=State.COMPLETED, confirmed=True, error=None, steps=steps, updated_at=now)

    def fail(self, handoff: Handoff, reason: Reason, *, now: int, rejected_delivery: bool = False) -> Handoff | None:
        """→ failed; the session returns to where it came from. A confirmed handoff fails only on a rejected delivery."""
        may_fail = [] if rejected_delivery else [unconfirmed()]
        return self._fail("fail", handoff, may_fail, reason, now=now)

    def fail_kickoff(
        self, handoff: Handoff, reason: Reason, *, session: Session, now: int, abandoned: bool = False
    ) -> Handoff | None:
        """→ failed by the executor that holds the kickoff's turn, as `session` has it; `abandoned`: while none holds it.

        None if the handoff has ended or is confirmed. Raises Conflict if the turn is over or another executor's.
        """
        held = [*is_at_fence(session), no_executor(now) if abandoned else equals("turn.state", CLAIMED)]
        return self._fail("fail", handoff, [unconfirmed()], reason, now=now, session=held)

    def expire(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        """→ failed by the sweep: past its deadline or out of attempts, lease over, fence as read, not confirmed."""
        not_held = either(equals("state", State.PENDING.value), at_most("lease_until", now))
        out_of_time_or_attempts = either(at_most("deadline", now), at_least("attempt", MAX_ATTEMPTS - 1))
        return self._fail("expire", handoff, [unconfirmed(), not_held, out_of_time_or_attempts], reason, now=now)

    def _fail(
        self,
        transition: str,
        handoff: Handoff,
        conditions: Sequence[Condition],
        reason: Reason,
        *,
        now: int,
        session: Sequence[Condition] = (),
    ) -> Handoff | None:
        may_end = [allowed(transition), fence_is_mine(handoff), *conditions, bound_as_read(handoff)]
        ended = ended_by(transition, reason, now)
        done = end(self._tables, handoff, may_end, ended, now=now, back=handoff.is_bound, session_when=session)
        return self.get(handoff.id) if done else None

    def cancel(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        """→ cancelled, while it is open and the session has not moved."""
        may_cancel = [allowed("cancel"), not_bound(), unconfirmed()]
        done = end(self._tables, handoff, may_cancel, ended_by("cancel", reason, now), now=now)
        return self.get(handoff.id) if done else None

    def back_to_pending(
        self, handoff: Handoff, reason: Reason, *, now: int, not_before: int, counts: bool, abandoned: bool = False
    ) -> Handoff | None:
        """running → pending for another attempt; a rate limit counts none. `abandoned`: only if its lease is over."""
        lease_is_over = [at_most("lease_until", now)] if abandoned else []
        look_again = not_before if not_before > now else now + NUDGE_AFTER
        return self._update(
            handoff,
            when=[allowed("back_to_pending"), fence_is_mine(handoff), *lease_is_over],
            set={
                **leads_to("back_to_pending"),
                "error": reason_value(reason),
                "not_before": not_before,
                "claimant": None,
                "due_at": min(look_again, handoff.deadline),
                "updated_at": now,
            },
            add={"attempt": 1} if counts else {},
        )

    def nudge(self, handoff: Handoff, *, now: int) -> bool:
        """Touch a pending handoff so that the stream shows it again."""
        touched = self._update(
            handoff,
            when=[allowed("nudge"), equals("nudges", handoff.nudges)],
            set={"due_at": min(now + NUDGE_AFTER, handoff.deadline)},
            add={"nudges": 1},
        )
        return touched is not None

    def drive(self, handoff: Handoff, *, now: int) -> bool:
        """Let the sweep pass over a confirmed handoff for a while: its turn has an offer, which is due by itself."""
        touched = self._update(
            handoff,
            when=[allowed("drive"), equals("confirmed", value=True), equals("nudges", handoff.nudges)],
            set={"due_at": now + CONFIRMED_DUE_AFTER},
            add={"nudges": 1},
        )
        return touched is not None

    def _update(self, handoff: Handoff, **changes: Any) -> Handoff | None:
        try:
            item = self._tables.update(Update(Table.HANDOFFS, handoff_key(handoff.id), **changes))
        except ConditionFailed:
            return None
        return handoff_of(item)
