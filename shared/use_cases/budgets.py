"""Budgets of sessions in chats: a line at 80 percent, and a question whether to go on when all is spent."""

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from shared.domain.buttons import button_id, number_in
from shared.domain.sessions import Session
from shared.domain.usage import Budget, Unit, new_budget, parse_amount
from shared.errors import Rejected
from shared.ports.platforms import Button
from shared.services import Services
from shared.store.outbox import OutPart
from shared.use_cases.access import platform_of
from shared.use_cases.deliver import deliver, say
from shared.use_cases.offers import wake_place
from shared.use_cases.questions.decide import NO_LONGER_ASKED
from shared.use_cases.retry import on_conflict

BUDGET_BUTTON = "b"
DEFAULT_ID = "default"


def watch_budget(services: Services, session: Session) -> bool:
    """Whether nothing more may be run in a chat: then the person is asked, once. Before that, a line at 80 percent.

    Safe to repeat. Raises Conflict, and NotYet for the delivery.
    """
    session = _with_default(services, session)
    budget, usage = session.budget, session.usage
    if budget is None or session.owner.is_cli:
        return False
    with contextlib.suppress(Rejected):
        if budget.is_over(usage):
            _ask(services, session, budget)
        elif budget.is_near(usage):
            text = f"{budget.percent(usage)} % of this session's budget of {budget.whole} is spent."
            say(services, session.owner, text, key=f"budget-{session.id}-{budget.id}-{budget.until}")
    return budget.is_over(usage)


def press_budget(services: Services, session: Session, fields: Sequence[str]) -> str:
    """Go on beyond the budget, as the button of its question says."""
    budget = session.budget
    if budget is None or len(fields) != 2 or fields[0] != budget.id:  # id and number
        return NO_LONGER_ASKED
    asked = number_in(fields[1])
    return NO_LONGER_ASKED if asked is None else go_on(services, session, asked)


def go_on(services: Services, session: Session, asked: int, *, by: str = "") -> str:
    """Answer the question with this number: one limit more, once. Returns what to tell the user.

    `by` is the id of a command: one that is run again, after its process died, does not answer the next question too.
    """

    def write() -> str:
        current = services.store.sessions.get(session.id) or session
        budget = current.budget
        if budget is None or (budget.id, budget.asked) != (session.budget and session.budget.id, asked):
            return NO_LONGER_ASKED
        if by and budget.by == by:
            return f"Going on: {budget.amount} more."
        if budget.is_open and services.store.budgets.go_on(current, asked, now=services.clock.now(), by=by):
            wake_place(services, current.owner, current.id, why=f"budget {budget.id} {asked}")
            return f"Going on: {budget.amount} more."
        return "Already going on."

    return on_conflict(write)


def _ask(services: Services, session: Session, budget: Budget) -> None:
    if not budget.is_open:
        asked = budget.asking()
        session = services.store.budgets.ask(session, _parts(services, session, asked), now=services.clock.now())
        budget = asked
    deliver(services, session.id, _journal(budget))


def _parts(services: Services, session: Session, budget: Budget) -> list[OutPart]:
    platform = platform_of(services, session.owner)
    how = "Press the button" if platform.capabilities.buttons else "Send `/budget more`"
    text = (
        f"This session has spent {budget.shown(budget.spent(session.usage))}; its budget is {budget.whole}. "
        f"What you say here waits. {how} to go on with {budget.amount} more, or set another budget, such as "
        "`/budget off`."
    )
    parts = list(platform.render(text))
    if platform.capabilities.buttons:
        button = Button(button_id(BUDGET_BUTTON, budget.id, budget.asked), f"Go on: {budget.amount} more", "primary")
        parts[-1] = replace(parts[-1], buttons=(button,))
    return [OutPart(session.id, _journal(budget), number, session.owner, part) for number, part in enumerate(parts)]


def _journal(budget: Budget) -> str:
    return f"budget-{budget.id}-{budget.asked}"


def _with_default(services: Services, session: Session) -> Session:
    """Give a session without a budget the deployment's, counted from now, once its agent has told what that counts."""
    if session.budget is not None or session.owner.is_cli:
        return session
    for text in filter(None, services.settings.budget.split(",")):
        amount = parse_amount(text)
        usage = session.usage
        if amount is not None and (usage.tokens if amount[0] is Unit.TOKENS else usage.cost is not None):
            budget = new_budget(DEFAULT_ID, *amount, usage)
            return services.store.budgets.set(session, budget, now=services.clock.now())
    return session
