"""Move a session by an order: its runner stores the one session of a taken order, and requests one handoff for it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.domain.commands import first_words, parse_command
from shared.domain.handoffs import Handoff
from shared.domain.messages import Message
from shared.domain.orders import BEGIN, MOVING, Order, OrderState
from shared.domain.sessions import RunsOn, Session, new_session
from shared.errors import Conflict, HandoffInFlight, IdempotencyKeyReused, Moved, OrderEnded, UnknownSession
from shared.services import Services
from shared.store.orders import taken
from shared.use_cases.access import id_for, own_session
from shared.use_cases.chat.target import Target, target_of
from shared.use_cases.handoffs.request_handoff import HandoffRequest, destination, write_request
from shared.use_cases.orders import send_told
from shared.use_cases.retry import on_conflict
from shared.use_cases.runners.take_order import OrderName, own_order
from shared.use_cases.sessions.append_messages import append_messages

TITLE_FROM_WORDS = 60


@dataclass(frozen=True)
class Made:
    """The session as its runner names it: without a `native_id` it begins with its first turn."""

    session_id: str
    agent: str
    native_id: str
    project: str
    title: str | None = None


def make_session(services: Services, name: OrderName, made: Made) -> Session | None:
    """Store the order's session: a new one, or one of this runner that is in its terminal. Safe to repeat.

    None if an order for the same has requested the handoff already: this one is done with it. Raises OrderEnded, Moved
    for a session that lives in a chat, HandoffInFlight, UnknownSession for one that does not run on this runner.
    """

    def make() -> Session | None:
        order = _moving(services, name)
        if _is_joined(services, order):
            return None
        session = services.store.sessions.get(made.session_id)
        is_new = session is None
        if session is None:
            fresh = new_session(made.session_id, order.user_id, now=services.clock.now())
            runs_on = RunsOn(order.runner_id, made.agent, made.native_id)
            title = made.title or _title(services, order, made.project)
            session = replace(fresh, title=title, source=made.agent, cwd=made.project, runs_on=runs_on)
        _refuse(session, order, made)
        if not services.store.orders.make(order, session, is_new=is_new):
            raise Conflict(f"order {order.id} or session {session.id} changed since it was read")
        return session

    return on_conflict(make)


def add_messages(services: Services, name: OrderName, *, after: int, messages: Sequence[Message]) -> Session:
    """Add to the transcript of the order's session, while the order is taken. Safe to repeat. Raises as `append_messages`."""

    def add() -> Session:
        order = _moving(services, name)
        session = own_session(services, order.user_id, order.made or "-")
        return append_messages(
            services,
            order.user_id,
            session.id,
            epoch=session.epoch,
            after=after,
            messages=messages,
            known=session,
            checks=[taken(order)],
        )

    return on_conflict(add)


def request_by_order(services: Services, name: OrderName) -> Handoff:
    """Request the order's one handoff, to the chat of its command; the order is done in the same transaction.

    A repeat, a second process and another order for the same get that handoff. Raises OrderEnded, Moved for a session that
    has left its terminal since it was stored, and the RequestRefused of a handoff.
    """
    handoff = on_conflict(lambda: _request(services, name))
    order = own_order(services, name)
    send_told(services, order)
    return handoff


def _request(services: Services, name: OrderName) -> Handoff:
    order = own_order(services, name)
    if order.state is OrderState.DONE and order.handoff_id and order.fence == name.fence:
        return _handoff(services, order.handoff_id)
    order = _moving(services, name)
    if _is_joined(services, order):
        return _handoff(services, _handoff_id(order))
    session = own_session(services, order.user_id, order.made or "-")
    if not session.owner.is_cli and services.store.handoffs.get(_handoff_id(order)) is None:
        raise Moved(session)  # with that handoff, this order's or one for the same has moved it: a conflict below
    where = target_of(services, order.user_id, order.place)
    chat = destination(services, order.user_id, order.place.platform, where.place.chat)
    asked = _asked(services, order, session, where)
    try:
        return write_request(services, _handoff_id(order), session, asked, chat, order=order).handoff
    except IdempotencyKeyReused:
        raise Conflict("another order for the same was faster") from None


def _asked(services: Services, order: Order, session: Session, where: Target) -> HandoffRequest:
    begins = order.kind == BEGIN
    return HandoffRequest(
        session.id,
        order.place.platform,
        session.epoch,
        target=where.place.chat,
        message=_words(services, order) if begins else None,
        replace=not where.has_threads,
        command=order.row,
        asked_at=order.place.route,
        begins=begins,
    )


def _moving(services: Services, name: OrderName) -> Order:
    """The order, if it is taken at this fence and ends with a handoff. Raises OrderEnded."""
    order = own_order(services, name)
    if order.kind not in MOVING or order.state is not OrderState.TAKEN or order.fence != name.fence:
        raise OrderEnded(order.id)
    return order


def _is_joined(services: Services, order: Order) -> bool:
    """Whether an order for the same has requested the handoff: then this one is done with it. Raises Conflict."""
    if services.store.handoffs.get(_handoff_id(order)) is None:
        return False
    if not services.store.orders.join(order, _handoff_id(order)):
        raise Conflict(f"order {order.id} changed since it was read")
    send_told(services, order)
    return True


def _refuse(session: Session, order: Order, made: Made) -> None:
    """Raise for a session that this order must not move."""
    runs_on = session.runs_on
    is_its = runs_on == RunsOn(order.runner_id, made.agent, made.native_id)
    if session.user_id != order.user_id or not is_its or (order.kind == BEGIN and session.message_count):
        raise UnknownSession(session.id)
    if not session.owner.is_cli:
        raise Moved(session)
    if session.active_handoff:
        raise HandoffInFlight(session.id, session.active_handoff)


def _handoff(services: Services, handoff_id: str) -> Handoff:
    found = services.store.handoffs.get(handoff_id)
    if found is None:
        raise Conflict("the handoff is gone")
    return found


def _handoff_id(order: Order) -> str:
    """The same for orders that may lead to one handoff only. No header of a request can hold a line break."""
    return id_for(order.user_id, f"order\n{order.place.route}\n{order.once or order.id}")


def _words(services: Services, order: Order) -> str | None:
    """The first words for the agent, as they stand in the order's command."""
    row = services.store.inbox.get(order.place, order.row)
    command = parse_command(row.text) if row is not None else None
    return first_words(command[1], skip=order.skip) or None if command else None


def _title(services: Services, order: Order, project: str) -> str:
    words = (_words(services, order) or "").split("\n")[0] if order.kind == BEGIN else ""
    return (
        words if len(words) <= TITLE_FROM_WORDS and words else f"{words[: TITLE_FROM_WORDS - 1]}…" if words else project
    )
