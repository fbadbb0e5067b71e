"""`/model`, `/mode` and `/effort`: show or set an option of the agent that answers in a chat."""

from collections.abc import Callable

from shared.domain.dials import DIALS, MAX_VALUE
from shared.domain.sessions import Executor
from shared.errors import Busy
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.chat.executor_commands import NO_SESSION, own_session_at
from shared.use_cases.offers import machine_for
from shared.use_cases.orders import look_after, make_order, order_of
from shared.use_cases.service_models import NO_CHOICE, choose_service_model

ORDERING = frozenset(DIALS)
"""Commands whose answer is that of a machine. Each waits for it in a line of its own."""
LONGEST_WAIT = 15.0
"""Seconds between two looks at an order; its end sends a message at once, so these find one that was lost, or overdue."""
TOLD = "…"
"""Never posted: the end of an order has written its answer into the outbox, and the journal keeps the first one."""
AWAY = "Your machine **{}** is away, so its agent cannot be asked. Start `handoff run` there, then try again."
TOO_OLD = "The `handoff run` on **{}** is too old for this command. Update `handoff` there, then start it again."


def dial_command(dial: str) -> Callable[[Services, InboxRow, str], str]:
    """The handler of a dial's command."""

    def handle(services: Services, row: InboxRow, argument: str) -> str:
        return _ask_machine(services, row, dial, " ".join(argument.split()))

    return handle


def _ask_machine(services: Services, row: InboxRow, dial: str, value: str) -> str:
    """Order it, and wait for the end. Safe to repeat: one row leads to one order. Raises Busy until that is over."""
    order = order_of(services, row)
    if order is None:
        session = own_session_at(services, row)
        if session is None:
            return NO_SESSION
        runner = machine_for(services, session)
        if runner is None or session.answers is Executor.CLOUD:
            is_model = dial == "model"
            return choose_service_model(services, row, session, value) if is_model else NO_CHOICE.format(dial)
        if len(value) > MAX_VALUE:
            return f"No {dial} has such a long name. Send `/{dial}` for a list."
        if not runner.is_online(services.clock.now()):
            return AWAY.format(runner.name)
        if dial not in runner.orders:
            return TOO_OLD.format(runner.name)
        order = make_order(services, row, session, runner, kind=dial, argument=value)
    if not look_after(services, order):
        raise Busy(LONGEST_WAIT)
    return TOLD
