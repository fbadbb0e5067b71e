"""Handoffs in DynamoDB: each transition is one conditional write or one transaction.

    request ──> pending ──claim──> running ──steps, rebind, kickoff_sent──> (queue) ──confirm──> ──> completed
                   ^  └─nudge         │ lease over, or an error worth another try
                   └──back_to_pending─┘
                pending | running ──fail, expire──> failed       pending | running ──cancel, resume──> cancelled

A claim takes a fence and a lease. Whoever holds an older fence is refused at its next write:

    p1  claim(fence 1) ── open thread ────────── (frozen) ─────────────── step: refused, fence is 2
    p2              lease ends, a wake-up or the sweep ── claim(fence 2) ── adopts the thread ── rebind ──>
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from shared.aws import endings
from shared.aws.conditions import (
    CONFIRMED_DUE_AFTER,
    KEEP_SECONDS,
    NOT_DUE,
    NUDGE_AFTER,
    allowed,
    ended_by,
    fence_is_mine,
    leads_to,
    no_live_turn,
    not_bound,
    unconfirmed,
)
from shared.aws.handoff_items import DUE_SHARDS, handoff_of, item_of, reason_value, thread_value
from shared.aws.items import Item, from_item, to_item
from shared.aws.sessions import session_of
from shared.aws.tables import Key, Tables, handoff_key, meta_key
from shared.aws.writes import (
    Condition,
    Put,
    Refusal,
    Update,
    absent,
    at_most,
    either,
    equals,
    more_than,
    present,
    transact,
    update,
)
from shared.domain.handoffs import MAX_ATTEMPTS, Handoff, Reason, State, Step, Thread
from shared.errors import Conflict, HandoffInFlight, IdempotencyKeyReused, Moved, SessionBusy, UnknownSession

log = logging.getLogger(__name__)


class DynamoHandoffs:
    """The `Handoffs` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def request(self, handoff: Handoff, *, now: int) -> Handoff:
        fresh = Put(
            self._tables.handoffs,
            item_of(handoff, due_at=min(now + NUDGE_AFTER, handoff.deadline)),
            [absent("handoff_id")],
        )
        free = Update(
            self._tables.sessions,
            meta_key(handoff.session_id),
            when=[
                equals("user_id", handoff.user_id),
                equals("epoch", handoff.request_epoch),
                absent("active_handoff"),
                no_live_turn(now),
            ],
            set={"active_handoff": handoff.id, "updated_at": now},
            add={"version": 1},
        )
        try:
            transact(self._tables.client, [fresh, free])
        except Refusal as refusal:
            return self._explain_request(handoff, *refusal.items)
        return handoff

    def _explain_request(self, handoff: Handoff, earlier: Item | None, meta: Item | None) -> Handoff:
        """Say why a request was refused; an earlier request with the same key is looked at first."""
        if earlier:
            if earlier["body_hash"] != handoff.body_hash or earlier["user_id"] != handoff.user_id:
                raise IdempotencyKeyReused
            return handoff_of(earlier)
        if not meta or meta["user_id"] != handoff.user_id:
            raise UnknownSession(handoff.session_id)
        if meta["epoch"] != handoff.request_epoch:
            raise Moved(session_of(meta))
        if meta.get("active_handoff") == handoff.id:
            raise Conflict("the same request is being written at this moment")
        if "active_handoff" in meta:
            raise HandoffInFlight(handoff.session_id, meta["active_handoff"])
        raise SessionBusy(handoff.session_id)

    def get(self, handoff_id: str) -> Handoff | None:
        item = self._tables.get(self._tables.handoffs, handoff_key(handoff_id))
        return handoff_of(item) if item else None

    def list(self, user_id: str, *, session_id: str | None, state: str | None, limit: int) -> Sequence[Handoff]:
        pages = self._tables.client.get_paginator("query").paginate(
            TableName=self._tables.handoffs,
            IndexName="by_user",
            KeyConditionExpression="user_id = :user",
            ExpressionAttributeValues=to_item({":user": user_id}),
            ScanIndexForward=False,
            PaginationConfig={"PageSize": 100 if session_id or state else limit},
        )
        found: list[Handoff] = []
        for page in pages:
            keys: list[Key] = [handoff_key(from_item(row)["handoff_id"]) for row in page["Items"]]
            for item in self._tables.get_many(self._tables.handoffs, keys):
                if session_id in (None, item["session_id"]) and state in (None, item["state"]):
                    found.append(handoff_of(item))
                    if len(found) == limit:
                        return found
        return found

    def claim(self, handoff_id: str, *, claimant: str, now: int, lease_until: int) -> Handoff | None:
        due = at_most("not_before", now)
        in_time = more_than("deadline", now)
        write = Update(
            self._tables.handoffs,
            handoff_key(handoff_id),
            when=[allowed("claim"), due, in_time],
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
            return handoff_of(update(self._tables.client, write))
        except Refusal as refusal:
            current = refusal.items[0]
            my_own_claim_whose_answer_was_lost = (
                current and current["state"] == State.RUNNING and current.get("claimant") == claimant
            )
            return handoff_of(current) if current and my_own_claim_whose_answer_was_lost else None

    def step(
        self, handoff: Handoff, step: Step, *, now: int, thread: Thread | None = None, notice: str | None = None
    ) -> Handoff | None:
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

    def kickoff_sent(self, handoff: Handoff, *, now: int) -> Handoff | None:
        mine = [allowed("kickoff_sent"), fence_is_mine(handoff)]
        noted = {f"steps.{Step.KICKOFF_SENT}": now}
        sent = self._update(
            handoff,
            when=[*mine, unconfirmed()],
            set={
                **noted,
                "lease_until": handoff.deadline,
                "due_at": min(handoff.lease_until, handoff.deadline),  # by then the turn must show signs of life
                "updated_at": now,
            },
        )
        # The turn may be quicker than this note; once it has confirmed, the sweep must not be put off.
        return sent or self._update(handoff, when=[*mine, present("confirmed")], set=noted)

    def complete(self, handoff: Handoff, *, now: int) -> Handoff | None:
        ended = {
            **leads_to("complete"),
            f"steps.{Step.COMPLETED}": now,
            "error": None,
            "updated_at": now,
            "expires_at": now // 1000 + KEEP_SECONDS,
            **NOT_DUE,
        }
        done = endings.end(
            self._tables,
            handoff,
            [allowed("complete"), equals("confirmed", value=True)],
            ended,
            now=now,
            first={f"steps.{Step.DELIVERED}": now},
        )
        steps = {Step.DELIVERED.value: now, **handoff.steps, Step.COMPLETED.value: now}
        completed = replace(handoff, state=State.COMPLETED, confirmed=True, error=None, steps=steps, updated_at=now)
        return completed if done else None

    def fail(self, handoff: Handoff, reason: Reason, *, now: int, rejected_delivery: bool = False) -> Handoff | None:
        may_fail = [] if rejected_delivery else [unconfirmed()]
        return self._fail("fail", handoff, may_fail, reason, now=now)

    def expire(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        nobody_holds_it = either(equals("state", State.PENDING.value), at_most("lease_until", now))
        out_of_time_or_tries = either(
            at_most("deadline", now), Condition("{} >= []", ("attempt",), (MAX_ATTEMPTS - 1,))
        )
        may_expire = [unconfirmed(), nobody_holds_it, out_of_time_or_tries]
        return self._fail("expire", handoff, may_expire, reason, now=now)

    def _fail(
        self, transition: str, handoff: Handoff, conditions: Sequence[Condition], reason: Reason, *, now: int
    ) -> Handoff | None:
        as_read = equals("bound_epoch", handoff.bound_epoch) if handoff.is_bound else not_bound()
        holds = [allowed(transition), fence_is_mine(handoff), *conditions, as_read]
        ended = ended_by(transition, reason, now)
        done = endings.end(self._tables, handoff, holds, ended, now=now, back=handoff.is_bound)
        return self.get(handoff.id) if done else None

    def cancel(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        holds = [allowed("cancel"), not_bound(), unconfirmed()]
        done = endings.end(self._tables, handoff, holds, ended_by("cancel", reason, now), now=now)
        return self.get(handoff.id) if done else None

    def back_to_pending(
        self, handoff: Handoff, reason: Reason, *, now: int, not_before: int, counts: bool, abandoned: bool = False
    ) -> Handoff | None:
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
        touched = self._update(
            handoff,
            when=[allowed("nudge"), equals("nudges", handoff.nudges)],
            set={"due_at": min(now + NUDGE_AFTER, handoff.deadline)},
            add={"nudges": 1},
        )
        return touched is not None

    def drive(self, handoff: Handoff, *, now: int) -> bool:
        later = now + CONFIRMED_DUE_AFTER
        sent = present(f"steps.{Step.KICKOFF_SENT}")
        touched = self._update(
            handoff,
            when=[
                allowed("drive"),
                either(equals("confirmed", value=True), sent),
                equals("nudges", handoff.nudges),
                equals("fence", handoff.fence),
            ],
            set={"due_at": later if handoff.confirmed else min(later, handoff.deadline)},
            add={"nudges": 1},
        )
        return touched is not None

    def due(self, *, now: int, limit: int) -> Sequence[Handoff]:
        rows: list[Item] = []
        for shard in range(DUE_SHARDS):
            answer = self._tables.client.query(
                TableName=self._tables.handoffs,
                IndexName="due",
                KeyConditionExpression="due_shard = :shard AND due_at <= :now",
                ExpressionAttributeValues=to_item({":shard": shard, ":now": now}),
                Limit=limit,
            )
            rows += map(from_item, answer["Items"])
        rows.sort(key=lambda row: row["due_at"])
        keys: list[Key] = [handoff_key(row["handoff_id"]) for row in rows[:limit]]
        items = self._tables.get_many(self._tables.handoffs, keys)
        # The index lags behind, and another sweep may have looked after an item since: its own word counts.
        found = [_readable(item) for item in items if item.get("due_at", now + 1) <= now]
        return [handoff for handoff in found if handoff and handoff.is_open]

    def _update(self, handoff: Handoff, **changes: Any) -> Handoff | None:
        try:
            item = update(self._tables.client, Update(self._tables.handoffs, handoff_key(handoff.id), **changes))
        except Refusal:
            return None
        return handoff_of(item)


def _readable(item: Item) -> Handoff | None:
    """The handoff, or None for an item that is not whole: one of those must not hide all the others from the sweep."""
    try:
        return handoff_of(item)
    except (KeyError, TypeError, ValueError):
        log.exception("handoff %s cannot be read", item["handoff_id"])
        return None
