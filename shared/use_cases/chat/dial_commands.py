"""`/model`, `/mode`, `/effort` and `/diff`: what the machine of the session in a chat is asked for."""

from collections.abc import Callable

from shared.domain.dials import MAX_VALUE
from shared.domain.orders import DIFF
from shared.domain.sessions import Executor
from shared.errors import Busy
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.chat.executor_commands import NO_SESSION, own_session_at
from shared.use_cases.offers import machine_for
from shared.use_cases.orders import look_after, make_order, order_of
from shared.use_cases.service_models import NO_CHOICE, choose_service_model

LONGEST_WAIT = 15.0
"""Seconds between two looks at an order; its end sends a message at once, so these find one that was lost, or overdue."""
TOLD = "…"
"""Never posted: the end of an order has written its answer into the outbox, and the journal keeps the first one."""
AWAY = "Your machine **{}** is away, so its agent cannot be asked. Start `handoff run` there, then try again."
NO_FILES = "The model of this service answers here, and it works on no files."
TOO_OLD = "The `handoff run` on **{}** is too old for this command. Update `handoff` there, then start it again."


def dial_command(dial: str) -> Callable[[Services, InboxRow, str], str]:
    """The handler of a dial's command."""

    def handle(services: Services, row: InboxRow, argument: str) -> str:
        return _ask_machine(services, row, dial, " ".join(argument.split()))

    return handle


def diff(services: Services, row: InboxRow, argument: str) -> str:
    """`/diff`: the machine compares the files of the session with those when it came."""
    return _ask_machine(services, row, DIFF, argument.strip())


def _ask_machine(services: Services, row: InboxRow, kind: str, value: str) -> str:
    """Order it, and wait for the end. Safe to repeat: one row leads to one order. Raises Busy until that is over."""
    order = order_of(services, row)
    if order is None:
        session = own_session_at(services, row)
        if session is None:
            return NO_SESSION
        runner = machine_for(services, session)
        if runner is None or session.answers is Executor.CLOUD:
            if kind == "model":
                return choose_service_model(services, row, session, value)
            return NO_FILES if kind == DIFF else NO_CHOICE.format(kind)
        if len(value) > MAX_VALUE:
            return f"No {'file' if kind == DIFF else kind} has such a long name. Send `/{kind}` for a list."
        if not runner.is_online(services.clock.now()):
            return AWAY.format(runner.name)
        if kind not in runner.orders:
            return TOO_OLD.format(runner.name)
        order = make_order(services, row, session, runner, kind=kind, argument=value)
    if not look_after(services, order):
        raise Busy(LONGEST_WAIT)
    return TOLD
