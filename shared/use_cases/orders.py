"""Orders of commands: made once, and void when they cannot be done any more. The command's row looks after its order."""

import logging
from collections.abc import Sequence

from shared.domain.buttons import button_id
from shared.domain.orders import VOID_TEXTS, Choice, Order, OrderState, Void
from shared.domain.runners import Runner
from shared.domain.sessions import Session
from shared.errors import NewerVersion
from shared.ports.queue import InboxEvent
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.store.outbox import OutPart
from shared.use_cases.access import id_for
from shared.use_cases.dials import DIAL_BUTTON, answer_parts

log = logging.getLogger(__name__)


def make_order(
    services: Services, row: InboxRow, session: Session, runner: Runner, *, kind: str, argument: str
) -> Order:
    """Offer an order about a session to its runner. Safe to repeat: one row leads to one order. Raises Conflict."""
    runs_on = session.runs_on
    order = Order(
        _id(row, runner.id),
        row.user_id,
        runner.id,
        kind,
        argument,
        row.place,
        row.event_id,
        services.clock.now(),
        session_id=session.id,
        epoch=session.epoch,
        agent=runs_on.agent if runs_on else "",
        native_id=runs_on.native_id if runs_on else "",
    )
    return services.store.orders.create(order, row, session)


def order_of(services: Services, row: InboxRow) -> Order | None:
    """The order that a command has made, whichever of the user's runners it is for: its session may have moved since."""
    for runner in services.store.runners.list(row.user_id):
        if order := services.store.orders.get(row.user_id, runner.id, _id(row, runner.id)):
            return order
    return None


def look_after(services: Services, order: Order) -> bool:
    """Whether the order is over. One that cannot be done any more is void then. Raises NewerVersion.

    Safe to run at any time: each end is one write that requires its reason.
    """
    if order.state is OrderState.UNKNOWN:
        raise NewerVersion(f"order {order.id}")
    if not order.is_open:
        return True
    why = order.overdue(services.clock.now()) or hindrance(services, order)
    return why is not None and void_order(services, order, why)


def hindrance(services: Services, order: Order) -> Void | None:
    """What keeps an order from being done, beside its times."""
    runner = services.store.runners.get(order.user_id, order.runner_id)
    if runner is None or runner.revoked:
        return Void.REVOKED
    session = services.store.sessions.get(order.session_id) if order.session_id else None
    if not order.session_id:
        return None
    is_here = session is not None and (session.owner, session.epoch) == (order.place, order.epoch)
    runs_here = session is not None and session.runs_on is not None and session.runs_on.runner == order.runner_id
    return None if is_here and runs_here else Void.MOVED


def void_order(services: Services, order: Order, why: Void) -> bool:
    """End an order that is not done, and tell the user; False if it was over, or changed, before."""
    parts = told_parts(services, order, VOID_TEXTS[why])
    if not services.store.orders.void(order, why, parts, now=services.clock.now()):
        return False
    log.info("order %s: void (%s)", order.id, why.value)
    send_told(services, order)
    return True


def told_parts(services: Services, order: Order, markdown: str, choices: Sequence[Choice] = ()) -> list[OutPart]:
    """The answer to the order's command for the outbox, with a button for each choice."""
    buttons = [
        (button_id(DIAL_BUTTON, order.id, index), choice.name.strip() or choice.value)
        for index, choice in enumerate(choices)
    ]
    return answer_parts(services, order.place, order.journal, markdown, buttons)


def send_told(services: Services, order: Order) -> None:
    """Let the answer be delivered. The command's own message looks by itself from time to time: this saves the wait."""
    message = InboxEvent(order.place, order.row)
    services.queue.send(message, dedupe=f"order {order.id}", line=f"order {order.id}")


def _id(row: InboxRow, runner_id: str) -> str:
    return id_for(row.user_id, f"order\n{row.place.route}\n{row.event_id}\n{runner_id}")
