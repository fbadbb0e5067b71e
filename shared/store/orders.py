"""Orders as items among what their runner polls: each transition is one transaction or one conditional write."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from shared.domain.dials import attribute
from shared.domain.handoffs import Handoff
from shared.domain.orders import LEASE, LONGEST, TAKES, Choice, Native, Order, OrderState, Void
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.conditions import (
    Condition,
    absent,
    at_least,
    at_most,
    both,
    differs,
    either,
    equals,
    one_of,
    present,
)
from shared.ports.tables import (
    Check,
    ConditionFailed,
    Item,
    Key,
    Put,
    Table,
    Tables,
    Update,
    Write,
    transacted,
    updated,
)
from shared.store.inbox import InboxRow
from shared.store.keys import ORDER, RUNNER, meta_key, order_key, pointers_partition, runner_key
from shared.store.outbox import OutPart, new_part
from shared.store.session_items import chosen_value
from shared.store.session_items import item_of as session_item
from shared.store.turns import is_new
from shared.store.values import is_over, is_set, list_at, number_at, place_at, text_at, time_at
from shared.store.versions import is_newer, not_newer, stamped

log = logging.getLogger(__name__)
KEEP_SECONDS = 24 * 3600
_OPEN = one_of("state", [OrderState.OFFERED.value, OrderState.TAKEN.value])


class Orders:
    """One item for each order. Ended ones stay for a day: repeats find them, and buttons refer to what they offered.

    create ──> offered ──take──> taken(fence, lease) ──answer──> done
                  │                 │ lease over: taken again, a few times
                  └──────void───────┴──────void──────> void
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def create(self, order: Order, row: InboxRow, session: Session | None) -> Order:
        """Offer an order, while its command's row is new, its runner is not revoked and its session lives at the place.

        A repeat finds the first one. Raises Conflict.
        """
        writes: list[Write] = [
            Put(Table.SESSIONS, _item_of(order), [absent("pk")]),
            is_new(row),
            _may_work(order),
            *([_lives_here(order)] if session else []),
        ]
        try:
            self._tables.transact(writes)
        except ConditionFailed as failed:
            first = _order_of(failed.items[0]) if failed.items[0] else None
            if first is None:
                raise Conflict(f"order {order.id}: its command, its runner or its session has changed") from None
            return first
        return order

    def get(self, user_id: str, runner_id: str, order_id: str) -> Order | None:
        item = self._tables.get(Table.SESSIONS, order_key(user_id, runner_id, order_id))
        return _order_of(item) if item else None

    def of(self, user_id: str, runner_id: str) -> Sequence[Order]:
        """All orders of a runner, ended ones included."""
        return orders_of(self._tables.query(pointers_partition(user_id, runner_id), low=ORDER))

    def take(self, order: Order, *, claim_id: str, now: int) -> Order:
        """offered → taken, or taken again once the lease is over, as it was read; the runner does it, or renews.

        Only by a runner that is not revoked, for a session that still lives where the order was made and runs on it. A
        repeat with the same `claim_id` succeeds again. Raises Conflict.
        """
        taken = replace(
            order,
            state=OrderState.TAKEN,
            fence=order.fence + 1,
            claim_id=claim_id,
            taken_at=order.taken_at or now,
            lease_until=now + LEASE,
        )
        in_time = both(equals("state", OrderState.OFFERED.value), at_least("created_at", now - order.open_for + 1))
        again = both(equals("state", OrderState.TAKEN.value), is_over("lease_until", now), at_most("fence", TAKES - 1))
        change = Update(
            Table.SESSIONS,
            _key(order),
            when=[not_newer(), equals("fence", order.fence), either(in_time, again)],
            set={
                "state": taken.state.value,
                "fence": taken.fence,
                "claim_id": claim_id,
                "taken_at": taken.taken_at,
                "lease_until": taken.lease_until,
            },
        )
        try:
            self._tables.transact([change, _may_work(order), *([_lives_here(order)] if order.session_id else [])])
        except ConditionFailed as failed:
            current = _order_of(failed.items[0]) if failed.items[0] else None
            if current is not None and current.claim_id == claim_id:  # the answer of the first try was lost
                return current
            raise Conflict(f"order {order.id} is taken or over, or its session has moved") from None
        return taken

    def renew(self, order: Order, *, fence: int, now: int) -> bool:
        """Extend the lease; False if the order is over or was taken again."""
        when = [equals("state", OrderState.TAKEN.value), equals("fence", fence)]
        return updated(self._tables, Update(Table.SESSIONS, _key(order), when=when, set={"lease_until": now + LEASE}))

    def answer(
        self,
        order: Order,
        digest: str,
        parts: Sequence[OutPart],
        *,
        now: int,
        choices: Sequence[Choice] = (),
        listed: Sequence[Native] = (),
        said: str = "",
        is_refused: bool = False,
        keeps: str = "",
        session: Session | None = None,
    ) -> bool:
        """taken → done at the order's fence, lease over or not; its answer enters the outbox in the same transaction.

        `keeps` is what the agent has confirmed of the order's dial. The session keeps it if that is as it was read and
        still lives where the order was made. False if the order is over or was taken again, its runner is revoked, or the
        session has moved or changed.
        """
        done = Update(
            Table.SESSIONS,
            _key(order),
            when=[not_newer(), equals("state", OrderState.TAKEN.value), equals("fence", order.fence)],
            set={
                "state": OrderState.DONE.value,
                "digest": digest,
                "choices": [asdict(choice) for choice in choices] or None,
                "listed": [asdict(native) for native in listed] or None,
                "said": said or None,
                "refused": is_refused or None,
            },
        )
        kept: list[Write] = []
        if keeps and session:
            chosen = chosen_value(session.choosing(order.kind, order.moment))
            changes = {attribute(order.kind): keeps, "chosen": chosen, "updated_at": now}
            as_read = [*_unmoved(order), equals("version", session.version)]
            kept = [Update(Table.SESSIONS, meta_key(session.id), when=as_read, set=changes, add={"version": 1})]
        return transacted(self._tables, [done, _may_work(order), *kept, *(new_part(part, now) for part in parts)])

    def make(self, order: Order, session: Session, *, is_new: bool) -> bool:
        """Let a taken order store one session: a new one, or one that runs on its runner and lives in its terminal.

        False if the order is over, was taken again or has another session, or if the session is not so.
        """
        if is_new:
            stored: Write = Put(Table.SESSIONS, session_item(session), [absent("pk")])
        else:
            as_said = [
                equals("user_id", order.user_id),
                equals("runs_on.runner", order.runner_id),
                equals("owner", session.cli.route),
            ]
            stored = Check(Table.SESSIONS, meta_key(session.id), as_said)
        noted = Update(
            Table.SESSIONS,
            _key(order),
            when=[*_taken(order), either(absent("made"), equals("made", session.id))],
            set={"made": session.id},
        )
        return transacted(self._tables, [noted, _may_work(order), stored])

    def join(self, order: Order, handoff_id: str) -> bool:
        """taken → done with a handoff that an order for the same has requested before. False if the order is over."""
        return updated(self._tables, _requested(order, handoff_id))

    def void(
        self, order: Order, why: Void, parts: Sequence[OutPart], *, now: int, session: Session | None = None
    ) -> bool:
        """offered or taken → void, if that is so; the notice enters the outbox in the same transaction.

        Because of a later choice, if the `session` is as it was read. False if the order is over, or was taken or renewed
        since.
        """
        conditions, checks = _void_conditions(order, why, now, session)
        change = Update(
            Table.SESSIONS,
            _key(order),
            when=[not_newer(), _OPEN, *conditions],
            set={"state": OrderState.VOID.value, "why": why.value},
        )
        return transacted(self._tables, [change, *checks, *(new_part(part, now) for part in parts)])


def _taken(order: Order) -> list[Condition]:
    return [not_newer(), equals("state", OrderState.TAKEN.value), equals("fence", order.fence)]


def _requested(order: Order, handoff_id: str) -> Update:
    """taken → done, with the one handoff of the order."""
    return Update(
        Table.SESSIONS,
        _key(order),
        when=[*_taken(order), absent("handoff_id")],
        set={"state": OrderState.DONE.value, "handoff_id": handoff_id},
    )


def writes_of_request(order: Order, handoff: Handoff) -> Sequence[Write]:
    """What requests a handoff for an order, in the handoff's own transaction: once, for the session that it has stored."""
    requested = _requested(order, handoff.id)
    return [replace(requested, when=[*requested.when, equals("made", handoff.session_id)]), _may_work(order)]


def taken(order: Order) -> Check:
    """The order is taken at the fence that was read."""
    return Check(Table.SESSIONS, _key(order), _taken(order))


def _void_conditions(order: Order, why: Void, now: int, session: Session | None) -> tuple[list[Condition], list[Check]]:
    """On the order itself, and on the item that is the reason."""
    runner = runner_key(order.user_id, order.runner_id)
    match why:
        case Void.UNTAKEN:
            over = is_over("created_at", now - order.open_for)
            return [equals("state", OrderState.OFFERED.value), over], []
        case Void.UNFINISHED:
            used_up = both(at_least("fence", TAKES), is_over("lease_until", now))
            return [equals("state", OrderState.TAKEN.value), either(used_up, is_over("taken_at", now - LONGEST))], []
        case Void.REVOKED:
            return [], [Check(Table.SESSIONS, runner, [either(absent("pk"), present("revoked"))])]
        case Void.MOVED:
            return [], [Check(Table.SESSIONS, meta_key(order.session_id), [_moved(order)])]
        case Void.CHOSEN_AGAIN:
            is_so = session is not None and session.has_chosen_since(order.kind, order.moment)
            version = session.version if session is not None and is_so else -1
            return [], [Check(Table.SESSIONS, meta_key(order.session_id), [equals("version", version)])]


def _may_work(order: Order) -> Check:
    """The runner is registered and not revoked."""
    key = runner_key(order.user_id, order.runner_id)
    return Check(Table.SESSIONS, key, [present("pk"), absent("revoked")])


def _unmoved(order: Order) -> list[Condition]:
    return [
        equals("owner", order.place.route),
        equals("epoch", order.epoch),
        equals("user_id", order.user_id),
        equals("runs_on.runner", order.runner_id),
    ]


def _moved(order: Order) -> Condition:
    return either(
        differs("owner", order.place.route),
        differs("epoch", order.epoch),
        differs("user_id", order.user_id),
        differs("runs_on.runner", order.runner_id),
    )


def _lives_here(order: Order) -> Check:
    return Check(Table.SESSIONS, meta_key(order.session_id), _unmoved(order))


def _key(order: Order) -> Key:
    return order_key(order.user_id, order.runner_id, order.id)


def _item_of(order: Order) -> Mapping[str, Any]:
    item = {
        **_key(order),
        "kind": order.kind,
        "argument": order.argument or None,
        "route": order.place.route,
        "row": order.row,
        "created_at": order.created_at,
        "session_id": order.session_id or None,
        "epoch": order.epoch,
        "agent": order.agent or None,
        "native_id": order.native_id or None,
        "state": order.state.value,
        "fence": order.fence,
        "once": order.once or None,
        "skip": order.skip or None,
        "said_at": order.said_at or None,
        "expires_at": order.created_at // 1000 + KEEP_SECONDS,
    }
    return stamped(item)


def orders_of(items: Iterable[Item]) -> list[Order]:
    """The orders among items, the oldest first, without those that cannot be read: the last word of a person counts."""
    found = (_order_of(item) for item in items if item["sk"].startswith(ORDER))
    return sorted(filter(None, found), key=lambda order: (order.created_at, order.id))


def _order_of(item: Item) -> Order | None:
    """An item as an order; None for one without a place or a row, which nobody could be told of."""
    place, row = place_at(item, "route"), text_at(item, "row")
    if place is None or not row:
        log.error("%s %s cannot be read", item["pk"], item["sk"])
        return None
    user_id, _, runner_id = item["pk"].removeprefix(RUNNER).partition("/")
    state = text_at(item, "state", "")
    return Order(
        id=item["sk"].removeprefix(ORDER),
        user_id=user_id,
        runner_id=runner_id,
        kind=text_at(item, "kind", ""),
        argument=text_at(item, "argument", ""),
        place=place,
        row=row,
        created_at=time_at(item, "created_at"),
        session_id=text_at(item, "session_id", ""),
        epoch=number_at(item, "epoch"),
        agent=text_at(item, "agent", ""),
        native_id=text_at(item, "native_id", ""),
        state=OrderState(state) if state in tuple(OrderState) and not is_newer(item) else OrderState.UNKNOWN,
        fence=number_at(item, "fence"),
        claim_id=text_at(item, "claim_id"),
        taken_at=time_at(item, "taken_at"),
        lease_until=time_at(item, "lease_until"),
        digest=text_at(item, "digest"),
        choices=tuple(_choice_of(value) for value in list_at(item, "choices") if isinstance(value, Mapping)),
        once=text_at(item, "once", ""),
        made=text_at(item, "made", ""),
        handoff_id=text_at(item, "handoff_id", ""),
        skip=number_at(item, "skip"),
        said_at=time_at(item, "said_at"),
        said=text_at(item, "said", ""),
        is_refused=is_set(item, "refused"),
        listed=tuple(_native_of(value) for value in list_at(item, "listed") if isinstance(value, Mapping)),
    )


def _native_of(value: Mapping[str, Any]) -> Native:
    is_open = value.get("is_open")
    return Native(
        text_at(value, "id", ""),
        text_at(value, "title", ""),
        text_at(value, "project", ""),
        text_at(value, "agent", ""),
        number_at(value, "age"),
        is_open if isinstance(is_open, bool) else None,
        text_at(value, "session_id", ""),
    )


def _choice_of(value: Mapping[str, Any]) -> Choice:
    return Choice(text_at(value, "value", ""), text_at(value, "name", ""), text_at(value, "description", ""))
