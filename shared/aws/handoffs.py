"""Handoffs in DynamoDB: each transition is one conditional write or one transaction.

    request ──> pending ──claim──> running ──steps, rebind, kickoff_sent──> (queue) ──confirm──> ──> completed
                   ^  └─nudge         │ lease over, or an error worth another try
                   └──back_to_pending─┘
                pending | running ──fail, expire──> failed       pending | running ──cancel, resume──> cancelled

A claim takes a fence and a lease. Whoever holds an older fence is refused at its next write:

    p1  claim(fence 1) ── open thread ────────── (frozen) ─────────────── step: refused, fence is 2
    p2                          lease ends, sweep ── claim(fence 2) ── adopts the thread ── rebind ──>
"""

from collections.abc import Mapping, Sequence
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
from shared.domain.routes import Place
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
                when=[allowed("rebind"), fence_is_mine(handoff), not_bound()],
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
        return self.get(handoff.id)

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
        return self._update(
            handoff,
            when=[allowed("kickoff_sent"), fence_is_mine(handoff)],
            set={
                f"steps.{Step.KICKOFF_SENT}": now,
                "lease_until": handoff.deadline,
                "due_at": handoff.deadline,
                "updated_at": now,
            },
        )

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
            Update(
                self._tables.sessions,
                meta_key(handoff.session_id),
                when=[equals("active_handoff", handoff.id)],
                set={"active_handoff": None, "updated_at": now},
                add={"version": 1},
            ),
            first={f"steps.{Step.DELIVERED}": now},
        )

    def fail(self, handoff: Handoff, reason: Reason, *, now: int, rejected_delivery: bool = False) -> Handoff | None:
        holds = [allowed("fail"), fence_is_mine(handoff)]
        if not rejected_delivery:
            holds.append(unconfirmed())
        return self._give_back(handoff, holds, reason, now=now)

    def expire(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        nobody_holds_it = either(equals("state", State.PENDING.value), at_most("lease_until", now))
        out_of_time_or_tries = either(at_most("deadline", now), Condition("{} >= []", ("attempt",), (MAX_ATTEMPTS,)))
        holds = [allowed("expire"), fence_is_mine(handoff), unconfirmed(), nobody_holds_it, out_of_time_or_tries]
        return self._give_back(handoff, holds, reason, now=now)

    def cancel(self, handoff: Handoff, reason: Reason, *, now: int) -> Handoff | None:
        return self._end(
            handoff,
            [allowed("cancel"), not_bound(), unconfirmed()],
            _ended(State.CANCELLED, reason, now),
            self._free(handoff, now),
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
        return self._move(session, writes)

    def _end_by_resume(self, handoff_id: str, now: int) -> Update:
        reason = Reason("resumed", "The session was resumed elsewhere before the handoff was done.")
        ended = _ended(State.CANCELLED, reason, now)
        return Update(self._tables.handoffs, handoff_key(handoff_id), when=[allowed("resume")], set=ended)

    def _move(self, session: Session, writes: Sequence[Write]) -> Session:
        try:
            transact(self._tables.client, writes)
        except Refusal:
            raise Conflict(f"session {session.id} changed meanwhile") from None
        meta = self._tables.get(self._tables.sessions, meta_key(session.id))
        if meta is None:
            raise UnknownSession(session.id)
        return session_of(meta)

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
        return self._move(session, writes)

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
        touched = self._update(
            handoff,
            when=[allowed("drive"), equals("confirmed", value=True), equals("nudges", handoff.nudges)],
            set={"due_at": now + CONFIRMED_DUE_AFTER},
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
        return [handoff_of(item) for item in self._tables.get_many(self._tables.handoffs, keys)]

    def _update(self, handoff: Handoff, **changes: Any) -> Handoff | None:
        try:
            item = update(self._tables.client, Update(self._tables.handoffs, handoff_key(handoff.id), **changes))
        except Refusal:
            return None
        return handoff_of(item)

    def _free(self, handoff: Handoff, now: int, *, back: bool = False) -> Update:
        """Free the session of its handoff; `back` also moves it to where it came from, ending a turn in the thread."""
        when = [equals("active_handoff", handoff.id)]
        change: dict[str, Any] = {"active_handoff": None, "updated_at": now}
        if back:
            when.append(equals("epoch", handoff.bound_epoch))
            change |= {"owner": handoff.origin.route, "link": None, "turn_id": None, "turn_lease_until": None}
        growth = {"version": 1, "epoch": 1} if back else {"version": 1}
        return Update(self._tables.sessions, meta_key(handoff.session_id), when=when, set=change, add=growth)

    def _give_back(self, handoff: Handoff, holds: Sequence[Condition], reason: Reason, *, now: int) -> Handoff | None:
        """→ failed, and the session back where it came from, unless it has moved on since (then it stays there)."""
        bound = equals("bound_epoch", handoff.bound_epoch) if handoff.is_bound else not_bound()
        ended = _ended(State.FAILED, reason, now)
        back = self._free(handoff, now, back=handoff.is_bound)
        done = self._end(handoff, [*holds, bound], ended, back)
        if done is not None or not handoff.is_bound:
            return done
        meta = self._tables.get(self._tables.sessions, meta_key(handoff.session_id))
        if meta is None or meta["epoch"] == handoff.bound_epoch:
            return None
        return self._end(handoff, [*holds, bound], ended, self._free(handoff, now))

    def _end(
        self,
        handoff: Handoff,
        holds: Sequence[Condition],
        ended: Mapping[str, Any],
        free: Update,
        first: Mapping[str, Any] | None = None,
    ) -> Handoff | None:
        end = Update(self._tables.handoffs, handoff_key(handoff.id), when=holds, set=ended, first=first or {})
        try:
            transact(self._tables.client, [end, free])
        except Refusal:
            return None
        return self.get(handoff.id)


def _ended(state: State, reason: Reason, now: int) -> Mapping[str, Any]:
    return {
        "state": state.value,
        "error": reason_value(reason),
        "updated_at": now,
        "expires_at": now // 1000 + KEEP_SECONDS,
        **NOT_DUE,
    }


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
