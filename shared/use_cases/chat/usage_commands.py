"""`/usage` and `/budget`: what a session has spent, and what it may."""

import hashlib

from shared.domain.sessions import Session
from shared.domain.usage import Budget, Unit, day_of, new_budget, parse_amount, spent_line
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.budgets import go_on
from shared.use_cases.chat.executor_commands import NO_SESSION, own_session_at
from shared.use_cases.offers import wake_place
from shared.use_cases.retry import on_conflict

LISTED = 100
HOW = "Send `/budget 5` for $5, `/budget 200k tokens`, or `/budget off`."
NO_COST = "The agent here tells no cost, only tokens. Send `/budget 200k tokens`, for example."


def show_usage(services: Services, row: InboxRow, _: str) -> str:
    """Tokens, context and cost of the session, and of all of the user's sessions today."""
    session = own_session_at(services, row)
    if session is None:
        return NO_SESSION
    lines = [f"This session: {session.usage.line or 'nothing is known yet'}.", _today(services, row.user_id)]
    if session.usage.tokens and session.usage.cost is None:
        lines.append("Its agent tells no cost.")
    return "\n".join([*lines, _budget_line(session)])


def set_budget(services: Services, row: InboxRow, argument: str) -> str:
    """Set, show or end the budget of the session. Safe to repeat: a budget has the id of its command."""
    wanted = argument.strip().lower()

    def write() -> str:
        session = own_session_at(services, row)
        if session is None:
            return NO_SESSION
        if not wanted:
            return f"{_budget_line(session)} {HOW}"
        if wanted == "more":
            budget = session.budget
            nothing = f"This session has no budget. {HOW}"
            return go_on(services, session, budget.asked, by=_id(row)) if budget else nothing
        amount = (Unit.OFF, 0) if wanted == "off" else parse_amount(wanted)
        if amount is None:
            return f"That is no budget. {HOW}"
        if amount[0] is Unit.COST and session.usage.cost is None:
            return NO_COST
        if session.budget is None or session.budget.id != _id(row):
            budget = new_budget(_id(row), *amount, session.usage)
            session = services.store.budgets.set(session, budget, now=services.clock.now())
        wake_place(services, row.place, session.id, why=f"budget {row.event_id}")
        return _set_line(session)

    return on_conflict(write)


def _set_line(session: Session) -> str:
    budget = session.budget
    if budget is None or budget.unit is Unit.OFF:
        return "This session has no budget now."
    note = " It counts your own agent, which tells its cost." if budget.unit is Unit.COST else ""
    return f"The budget of this session is {budget.amount}, counted from now.{note} You are asked before it goes on."


def _budget_line(session: Session) -> str:
    budget: Budget | None = session.budget
    if budget is None or budget.unit is Unit.OFF:
        return "It has no budget."
    spent = budget.shown(budget.spent(session.usage))
    return f"Budget: {spent} of {budget.whole} ({budget.percent(session.usage)} %)."


def _today(services: Services, user_id: str) -> str:
    """The sums of the newest sessions, of those that were used today."""
    day = day_of(services.clock.now())
    sessions = services.store.sessions.list(user_id, limit=LISTED).sessions
    used = [session.usage for session in sessions if session.usage.day == day]
    spent = spent_line(sum(usage.day_tokens for usage in used), sum(usage.day_cost for usage in used))
    return f"Today, in all your sessions: {spent or 'nothing'}."


def _id(row: InboxRow) -> str:
    """Short enough for a button, and of its characters."""
    return hashlib.sha256(f"{row.place.route}\n{row.event_id}".encode()).hexdigest()[:12]
