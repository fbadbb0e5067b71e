"""Orders of commands: made once, and void when they cannot be done any more. The command's row looks after its order."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shared.domain.buttons import button_id
from shared.domain.files import StoredFile
from shared.domain.orders import SILENT, TRANSCRIBE, VOID_TEXTS, Choice, Order, OrderState, Void
from shared.domain.runners import Runner
from shared.domain.sessions import Session
from shared.errors import NewerVersion
from shared.ports.platforms import Part
from shared.ports.queue import Fetch, InboxEvent
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.store.outbox import OutPart
from shared.use_cases.access import id_for
from shared.use_cases.dials import DIAL_BUTTON, answer_parts

log = logging.getLogger(__name__)


def make_order(
    services: Services,
    row: InboxRow,
    session: Session | None,
    runner: Runner,
    *,
    kind: str,
    argument: str,
    agent: str = "",
    once: str = "",
    skip: int = 0,
) -> Order:
    """Offer an order to a runner, about a session that runs there or about none. Raises Conflict.

    Safe to repeat: one row leads to one order of each runner.
    """
    runs_on = session.runs_on if session else None
    order = Order(
        _id(row, runner.id),
        row.user_id,
        runner.id,
        kind,
        argument,
        row.place,
        row.event_id,
        services.clock.now(),
        session_id=session.id if session else "",
        epoch=session.epoch if session else 0,
        agent=runs_on.agent if runs_on else agent,
        native_id=runs_on.native_id if runs_on else "",
        once=once,
        skip=skip,
        said_at=row.received_at,
    )
    return services.store.orders.create(order, row, session)


def order_of(services: Services, row: InboxRow) -> Order | None:
    """The order that a command has made, whichever of the user's runners it is for: its session may have moved since."""
    return next(orders_of(services, row), None)


def orders_of(services: Services, row: InboxRow) -> Iterator[Order]:
    """The orders that a command has made, one for each runner."""
    for runner in services.store.runners.list(row.user_id):
        if order := services.store.orders.get(row.user_id, runner.id, _id(row, runner.id)):
            yield order


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
    if session is not None and is_too_late(order, session):
        return Void.CHOSEN_AGAIN
    is_here = session is not None and (session.owner, session.epoch) == (order.place, order.epoch)
    runs_here = session is not None and session.runs_on is not None and session.runs_on.runner == order.runner_id
    return None if is_here and runs_here else Void.MOVED


def is_too_late(order: Order, session: Session) -> bool:
    """Whether the order would set what the user has set to something else since: another line has done that first."""
    is_here = (session.owner, session.epoch) == (order.place, order.epoch)
    return bool(order.argument) and is_here and session.has_chosen_since(order.kind, order.moment)


def void_order(services: Services, order: Order, why: Void) -> bool:
    """End an order that is not done, and tell the user; False if it was over, or changed, before."""
    parts = told_parts(services, order, VOID_TEXTS[why])
    session = services.store.sessions.get(order.session_id) if why is Void.CHOSEN_AGAIN else None
    if not services.store.orders.void(order, why, parts, now=services.clock.now(), session=session):
        return False
    log.info("order %s: void (%s)", order.id, why.value)
    send_told(services, order)
    return True


def told_parts(
    services: Services,
    order: Order,
    markdown: str,
    choices: Sequence[Choice] = (),
    file: StoredFile | None = None,
) -> list[OutPart]:
    """The answer to the order's command for the outbox, with a button for each choice; none of a silent kind.

    A file of the order's session follows it.
    """
    if order.kind in SILENT:
        return []
    buttons = [
        (button_id(DIAL_BUTTON, order.id, index), choice.name.strip() or choice.value)
        for index, choice in enumerate(choices)
    ]
    parts = answer_parts(services, order.place, order.journal, markdown, buttons)
    if file is None or not parts:
        return parts
    beside = replace(parts[-1], number=len(parts), part=Part(""), file=file, file_of=order.session_id)
    return [*parts, beside]


def send_told(services: Services, order: Order) -> None:
    """Let the answer be delivered. The command's own message looks by itself from time to time: this saves the wait.

    A voice message that waits for its words is read once more, and finds them in the order.
    """
    if order.kind == TRANSCRIBE:
        services.runs.send(Fetch(order.place, order.row, order.session_id))
        return
    message = InboxEvent(order.place, order.row)
    services.queue.send(message, dedupe=f"order {order.id}", line=f"order {order.id}")


def _id(row: InboxRow, runner_id: str) -> str:
    return id_for(row.user_id, f"order\n{row.place.route}\n{row.event_id}\n{runner_id}")
