"""Budgets of sessions: transitions of META's budget."""

from collections.abc import Sequence
from dataclasses import replace

from shared.domain.sessions import Session
from shared.domain.usage import Budget
from shared.errors import Conflict
from shared.ports.conditions import equals
from shared.ports.tables import ConditionFailed, Table, Tables, Update, Write, updated
from shared.store.budget_items import budget_value
from shared.store.keys import meta_key
from shared.store.outbox import OutPart, new_part


class Budgets:
    """The budget of a session. Each method is one conditional write or one transaction."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def set(self, session: Session, budget: Budget, *, now: int) -> Session:
        """Give the session a budget in the place of its last one. Raises Conflict if it changed since it was read."""
        return self._write(session, budget, now)

    def ask(self, session: Session, parts: Sequence[OutPart], *, now: int) -> Session:
        """Ask whether to go on, with one number more. Raises Conflict if the session changed since it was read."""
        if session.budget is None:
            raise ValueError(f"session {session.id} has no budget")
        return self._write(session, session.budget.asking(), now, [new_part(part, now) for part in parts])

    def go_on(self, session: Session, asked: int, *, now: int, by: str = "") -> bool:
        """Add one limit, if the question with this number is open: once, however often it is answered. `by` a command."""
        budget = session.budget
        if budget is None:
            return False
        when = [equals("budget.id", budget.id), equals("budget.asked", asked), equals("budget.open", value=True)]
        changes = {"budget": budget_value(budget.going_on(session.usage, by)), "updated_at": now}
        change = Update(Table.SESSIONS, meta_key(session.id), when=when, set=changes, add={"version": 1})
        return updated(self._tables, change)

    def _write(self, session: Session, budget: Budget, now: int, more: Sequence[Write] = ()) -> Session:
        change = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[equals("version", session.version)],
            set={"budget": budget_value(budget), "updated_at": now},
            add={"version": 1},
        )
        try:
            self._tables.transact([change, *more])
        except ConditionFailed:
            raise Conflict(f"session {session.id} changed since it was read") from None
        return replace(session, budget=budget, version=session.version + 1, updated_at=now)
