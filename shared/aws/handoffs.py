"""Handoffs in DynamoDB: each transition is one conditional write or one transaction.

    request ──> pending ──claim──> running ──steps, rebind, kickoff_sent──> (queue) ──confirm──> ──> completed
                   ^  └─nudge         │ lease over, or an error worth another try
                   └──back_to_pending─┘
                pending | running ──fail, expire──> failed       pending | running ──cancel, resume──> cancelled

A claim takes a fence and a lease. Whoever holds an older fence is refused at its next write:

    p1  claim(fence 1) ── open thread ────────── (frozen) ─────────────── step: refused, fence is 2
    p2                          lease ends, sweep ── claim(fence 2) ── adopts the thread ── rebind ──>
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shared.aws.handoff_items import (
    DUE_SHARDS,
    handoff_of,
    item_of,
    reason_value,
    receipt_value,
    thread_value,
)
from shared.aws.items import Item, from_item, to_item
from shared.aws.sessions import session_of
from shared.aws.tables import Key, Tables, back_route_key, handoff_key, meta_key, route_key
from shared.aws.writes import (
    Check,
    Condition,
    Put,
    Refusal,
    Update,
    Write,
    absent,
    at_most,
    differs,
    either,
    equals,
    more_than,
    one_of,
    present,
    transact,
    update,
)
from shared.domain.handoffs import MAX_ATTEMPTS, TRANSITIONS, Handoff, Reason, Receipt, State, Step, Thread
from shared.domain.routes import Place, cli_place
from shared.domain.sessions import Session
from shared.errors import (
    Conflict,
    HandoffInFlight,
    IdempotencyKeyReused,
    Moved,
    PlaceBusy,
    SessionBusy,
    UnknownSession,
)

log = logging.getLogger(__name__)
NUDGE_AFTER = 30_000
CONFIRMED_DUE_AFTER = 120_000
KEEP_SECONDS = 30 * 24 * 3600
NOT_DUE: Mapping[str, Any] = {"due_shard": None, "due_at": None}


def allowed(transition: str) -> Condition:
    """The states that the domain's table lets this transition start from."""
    return one_of("state", sorted(state.value for state in TRANSITIONS[transition].sources))


def fence_is_mine(handoff: Handoff) -> Condition:
    return equals("fence", handoff.fence)


def unconfirmed() -> Condition:
    return absent("confirmed")


def not_bound() -> Condition:
    return absent("bound_epoch")


def no_live_turn(now: int) -> Condition:
    return either(absent("turn_id"), at_most("turn_lease_until", now))


def confirm_write(table: str, handoff: Handoff, receipt: Receipt | None, *, now: int) -> Update:
    """open → confirmed, once, as part of the kickoff turn's commit."""
    return Update(
        table,
        handoff_key(handoff.id),
        when=[allowed("confirm"), unconfirmed()],
        set={
            "confirmed": True,
            "receipt": receipt_value(receipt) if receipt else None,
            f"steps.{Step.CONFIRMED}": now,
            "updated_at": now,
            "due_at": now + CONFIRMED_DUE_AFTER,
        },
    )


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
            PaginationConfig={"PageSize": 100},
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
                "state": State.RUNNING.value,
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

    def rebind(self, handoff: Handoff, *, now: int) -> Handoff | None:
        if handoff.thread is None:
            raise ValueError("a session moves into a thread that is recorded")
        place = handoff.thread.place
        epoch = handoff.request_epoch + 1
        other, tenant = self._tenant(place, handoff.session_id)
        if tenant and tenant.owner == place and not handoff.replace:
            raise PlaceBusy(place.route)
        writes: list[Write] = [
            Update(
                self._tables.handoffs,
                handoff_key(handoff.id),
                when=[allowed("rebind"), fence_is_mine(handoff), not_bound(), equals("thread.route", place.route)],
                set={"bound_epoch": epoch, f"steps.{Step.MOVED}": now, "updated_at": now},
            ),
            Update(
                self._tables.sessions,
                meta_key(handoff.session_id),
                when=[equals("epoch", handoff.request_epoch), equals("active_handoff", handoff.id)],
                set={"owner": place.route, "epoch": epoch, "link": handoff.thread.url, "updated_at": now},
                add={"version": 1},
            ),
            self._take_route(place, handoff.session_id, other),
            Put(self._tables.sessions, back_route_key(handoff.session_id, place)),
            *([_evict(self._tables.sessions, tenant, place.route, now)] if tenant else []),
        ]
        try:
            transact(self._tables.client, writes)
        except Refusal as refusal:
            _explain_rebind(handoff, refusal)
            return None
        # Not read back: whoever took over meanwhile has a newer fence, and this claimant must not come to hold it.
        return replace(handoff, bound_epoch=epoch, steps={**handoff.steps, Step.MOVED.value: now}, updated_at=now)

    def _tenant(self, place: Place, session_id: str) -> tuple[str | None, Session | None]:
        """Which other session a place's route points to, and that session if it still exists."""
        pointer = self._tables.get(self._tables.sessions, route_key(place))
        if not pointer or pointer["session_id"] == session_id:
            return None, None
        meta = self._tables.get(self._tables.sessions, meta_key(pointer["session_id"]))
        return pointer["session_id"], session_of(meta) if meta else None

    def _take_route(self, place: Place, session_id: str, other: str | None) -> Put:
        """Let the route point here, if it still points where it did when it was read."""
        as_read = [absent("pk"), equals("session_id", session_id), *([equals("session_id", other)] if other else [])]
        return Put(self._tables.sessions, {**route_key(place), "session_id": session_id}, [either(*as_read)])

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
            "state": State.COMPLETED.value,
            f"steps.{Step.COMPLETED}": now,
            "error": None,
            "updated_at": now,
            "expires_at": now // 1000 + KEEP_SECONDS,
            **NOT_DUE,
        }
        return self._end(
            handoff,
            [allowed("complete"), equals("confirmed", value=True)],
            ended,
            now=now,
            first={f"steps.{Step.DELIVERED}": now},
        )

    def fail(self, handoff: Handoff, reason: Reason, *, now: int, rejected_delivery: bool = False) -> Handoff | None:
        holds = [allowed("fail"), fence_is_mine(handoff)]
        if not rejected_delivery:
            holds.append(unconfirmed())
        return self._fail(handoff, holds, reason, now=now)

    def expire(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        nobody_holds_it = either(equals("state", State.PENDING.value), at_most("lease_until", now))
        out_of_time_or_tries = either(at_most("deadline", now), Condition("{} >= []", ("attempt",), (MAX_ATTEMPTS,)))
        holds = [allowed("expire"), fence_is_mine(handoff), unconfirmed(), nobody_holds_it, out_of_time_or_tries]
        return self._fail(handoff, holds, reason, now=now)

    def _fail(self, handoff: Handoff, holds: Sequence[Condition], reason: Reason, *, now: int) -> Handoff | None:
        as_read = equals("bound_epoch", handoff.bound_epoch) if handoff.is_bound else not_bound()
        ended = _ended(State.FAILED, reason, now)
        return self._end(handoff, [*holds, as_read], ended, now=now, back=handoff.is_bound)

    def cancel(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        return self._end(
            handoff,
            [allowed("cancel"), not_bound(), unconfirmed()],
            _ended(State.CANCELLED, reason, now),
            now=now,
        )

    def resume(self, session: Session, *, now: int) -> Session:
        move = Update(
            self._tables.sessions,
            meta_key(session.id),
            when=[equals("version", session.version)],
            set={
                "owner": session.cli.route,
                "updated_at": now,
                **dict.fromkeys(("link", "active_handoff", "turn_id", "turn_lease_until")),
            },
            add={"version": 1, "epoch": 1},
        )
        writes: list[Write] = [move]
        if session.active_handoff:
            writes.append(self._end_by_resume(session.active_handoff, now))
        return self._move(session, _arrived(session, session.cli, None, now), writes)

    def _end_by_resume(self, handoff_id: str, now: int) -> Update:
        reason = Reason("resumed", "The session was resumed elsewhere before the handoff was done.")
        ended = _ended(State.CANCELLED, reason, now)
        return Update(self._tables.handoffs, handoff_key(handoff_id), when=[allowed("resume")], set=ended)

    def _move(self, session: Session, moved: Session, writes: Sequence[Write]) -> Session:
        """Do the writes and return the session as they leave it: exact, because its version was as read."""
        try:
            transact(self._tables.client, writes)
        except Refusal:
            raise Conflict(f"session {session.id} changed meanwhile") from None
        return moved

    def bring(self, session: Session, place: Place, link: str, *, now: int) -> Session:
        other, tenant = self._tenant(place, session.id)
        writes: list[Write] = [
            Update(
                self._tables.sessions,
                meta_key(session.id),
                when=[equals("version", session.version)],
                set={
                    "owner": place.route,
                    "link": link,
                    "updated_at": now,
                    **dict.fromkeys(("active_handoff", "turn_id", "turn_lease_until", "suspended", "strikes")),
                },
                add={"version": 1, "epoch": 1},
            ),
            self._take_route(place, session.id, other),
            Put(self._tables.sessions, back_route_key(session.id, place)),
            *([_evict(self._tables.sessions, tenant, place.route, now)] if tenant else []),
            *([self._end_by_resume(session.active_handoff, now)] if session.active_handoff else []),
        ]
        arrived = replace(_arrived(session, place, link, now), suspended=False, strikes=0)
        return self._move(session, arrived, writes)

    def back_to_pending(
        self, handoff: Handoff, reason: Reason, *, now: int, not_before: int, counts: bool
    ) -> Handoff | None:
        look_again = not_before if not_before > now else now + NUDGE_AFTER
        return self._update(
            handoff,
            when=[allowed("back_to_pending"), fence_is_mine(handoff)],
            set={
                "state": State.PENDING.value,
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

    def _end(
        self,
        handoff: Handoff,
        holds: Sequence[Condition],
        ended: Mapping[str, Any],
        *,
        now: int,
        back: bool = False,
        first: Mapping[str, Any] | None = None,
    ) -> Handoff | None:
        """End a handoff and settle its session, at once or not at all. Raises Conflict if the session changed meanwhile."""
        end = Update(self._tables.handoffs, handoff_key(handoff.id), when=holds, set=ended, first=first or {})
        session = self._give_back(handoff, now) if back else [self._free(handoff, now)]
        try:
            transact(self._tables.client, [end, *session])
        except Refusal as refusal:
            if refusal.items[0] is not None:
                return None
            self._end_alone(handoff, end)
        return self.get(handoff.id)

    def _end_alone(self, handoff: Handoff, end: Update) -> None:
        """End a handoff whose session is deleted or no longer its own, lest the sweep look after it for ever."""
        not_its_own = either(absent("active_handoff"), differs("active_handoff", handoff.id))
        try:
            transact(
                self._tables.client, [end, Check(self._tables.sessions, meta_key(handoff.session_id), [not_its_own])]
            )
        except Refusal:
            raise Conflict(f"session {handoff.session_id} changed meanwhile") from None

    def _free(self, handoff: Handoff, now: int) -> Update:
        """The session is no longer on its way."""
        return Update(
            self._tables.sessions,
            meta_key(handoff.session_id),
            when=[equals("active_handoff", handoff.id)],
            set={"active_handoff": None, "updated_at": now},
            add={"version": 1},
        )

    def _give_back(self, handoff: Handoff, now: int) -> Sequence[Write]:
        """The session back where it came from, ending a turn in the thread; one that has moved on stays where it is.

        Where another session has come to its old place meanwhile, it goes back to its terminal.
        """
        meta = self._tables.get(self._tables.sessions, meta_key(handoff.session_id))
        if meta is None or meta["epoch"] != handoff.bound_epoch:
            return [self._free(handoff, now)]
        pointer = self._tables.get(self._tables.sessions, route_key(handoff.origin))
        is_free = pointer is not None and pointer["session_id"] == handoff.session_id
        home = handoff.origin if is_free else cli_place(handoff.session_id)
        back = Update(
            self._tables.sessions,
            meta_key(handoff.session_id),
            when=[equals("active_handoff", handoff.id), equals("epoch", handoff.bound_epoch)],
            set={
                "owner": home.route,
                "updated_at": now,
                **dict.fromkeys(("active_handoff", "link", "turn_id", "turn_lease_until")),
            },
            add={"version": 1, "epoch": 1},
        )
        still_free = Check(self._tables.sessions, route_key(home), [equals("session_id", handoff.session_id)])
        return [back, still_free] if is_free else [back]


def _readable(item: Item) -> Handoff | None:
    """The handoff, or None for an item that is not whole: one of those must not hide all the others from the sweep."""
    try:
        return handoff_of(item)
    except (KeyError, TypeError, ValueError):
        log.exception("handoff %s cannot be read", item["handoff_id"])
        return None


def _ended(state: State, reason: Reason, now: int) -> Mapping[str, Any]:
    return {
        "state": state.value,
        "error": reason_value(reason),
        "updated_at": now,
        "expires_at": now // 1000 + KEEP_SECONDS,
        **NOT_DUE,
    }


def _arrived(session: Session, place: Place, link: str | None, now: int) -> Session:
    """A session after a move that ended its turn and its handoff."""
    return replace(
        session,
        owner=place,
        link=link,
        epoch=session.epoch + 1,
        version=session.version + 1,
        updated_at=now,
        active_handoff=None,
        turn=None,
    )


def _evict(table: str, tenant: Session, route: str, now: int) -> Write:
    """Park the session that lives at the place (back to its terminal), or make sure that the other one has not come back."""
    if tenant.owner.route != route:
        return Check(table, meta_key(tenant.id), [differs("owner", route)])
    return Update(
        table,
        meta_key(tenant.id),
        when=[equals("owner", route), present("pk")],
        set={"owner": tenant.cli.route, "link": None, "updated_at": now, "turn_id": None, "turn_lease_until": None},
        add={"version": 1, "epoch": 1},
    )


def _explain_rebind(handoff: Handoff, refusal: Refusal) -> None:
    """Raise what the caller must know; a lost fence is not among it."""
    mine, meta, *others = refusal.items
    if mine is not None:
        return
    if meta is not None:
        if not meta:
            raise UnknownSession(handoff.session_id)
        raise Moved(session_of(meta))
    if any(item is not None for item in others):
        raise Conflict("another session came to the same place meanwhile")
