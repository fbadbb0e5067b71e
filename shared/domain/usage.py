"""Usage of a session's agents: tokens, context and cost, and the budget that a person sets for them."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

MICROS = 1_000_000
"""Costs are whole millionths of a dollar."""
MOST = 10**15
WARN_AT = 80
"""Percent of a budget at which a line is posted."""
_AMOUNT = re.compile(r"\$?\s*([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*([km]?)\s*(tokens?|\$|usd|dollars?)?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True)
class TurnUsage:
    """What an agent tells about one turn. `cost` is its sum for the whole session, turns in a terminal included."""

    tokens: int = 0
    cost: int | None = None
    context: int = 0
    window: int = 0


@dataclass(frozen=True)
class Usage:
    """The sums of a session. `cost` is None where no agent has told one; `cost_told` is the agent's own sum.

    `day` is the day of the newest turn, `day_tokens` and `day_cost` are those of that day.
    """

    tokens: int = 0
    cost: int | None = None
    cost_told: int = 0
    context: int = 0
    window: int = 0
    day: str = ""
    day_tokens: int = 0
    day_cost: int = 0

    def after(self, turn: TurnUsage, day: str) -> "Usage":
        """The sums with one more turn."""
        before = self if day == self.day else replace(self, day=day, day_tokens=0, day_cost=0)
        added = before.added_cost(turn)
        # What was spent before the first report may be of any day.
        of_today = 0 if self.cost is None else added
        return replace(
            before,
            tokens=min(MOST, before.tokens + turn.tokens),
            cost=before.cost if turn.cost is None else min(MOST, (before.cost or 0) + added),
            cost_told=before.cost_told if turn.cost is None else turn.cost,
            context=turn.context or before.context,
            window=turn.window or before.window,
            day_tokens=min(MOST, before.day_tokens + turn.tokens),
            day_cost=min(MOST, before.day_cost + of_today),
        )

    def added_cost(self, turn: TurnUsage) -> int:
        """What a turn adds to the cost.

        The sum of an agent that was killed is an earlier one plus this turn. What of it is new is not known, and most of it
        was counted before: nothing is added, and it is counted on from there.
        """
        return 0 if turn.cost is None else max(0, turn.cost - self.cost_told)

    @property
    def line(self) -> str:
        """The sums, such as `12.3k tokens, $0.31, context 45k of 200k (22 %)`."""
        share = f" of {count(self.window)} ({self.context * 100 // self.window} %)" if self.window else ""
        context = f"context {count(self.context)}{share}" if self.context else ""
        return ", ".join(filter(None, (spent_line(self.tokens, self.cost), context)))


class Unit(StrEnum):
    """What a budget counts."""

    COST = "cost"
    TOKENS = "tokens"
    OFF = "off"


@dataclass(frozen=True)
class Budget:
    """A limit for a session. `until` is the count at which nothing more is run: `limit` after `base`, and more if asked.

    `id` tells it from an earlier one. `asked` counts the questions whether to go on; `is_open`: the newest one is not
    answered; `by` is the command that answered the last one. A budget whose unit is OFF stands for none, also where the
    deployment has a default.
    """

    id: str
    unit: Unit
    limit: int = 0
    base: int = 0
    until: int = 0
    asked: int = 0
    is_open: bool = False
    by: str = ""

    def counted(self, usage: Usage) -> int:
        return {Unit.COST: usage.cost or 0, Unit.TOKENS: usage.tokens, Unit.OFF: 0}[self.unit]

    def spent(self, usage: Usage) -> int:
        return max(0, self.counted(usage) - self.base)

    def is_over(self, usage: Usage) -> bool:
        return self.unit is not Unit.OFF and self.counted(usage) >= self.until

    def is_near(self, usage: Usage) -> bool:
        """Whether most of the newest limit is spent."""
        return self.unit is not Unit.OFF and self.counted(usage) >= self.until - self.limit * (100 - WARN_AT) // 100

    def percent(self, usage: Usage) -> int:
        return self.spent(usage) * 100 // max(1, self.until - self.base)

    def asking(self) -> "Budget":
        """With one more question."""
        return replace(self, asked=self.asked + 1, is_open=True)

    def going_on(self, usage: Usage, by: str = "") -> "Budget":
        """With one more limit, counted from what is spent now if that is more."""
        return replace(self, until=max(self.until, self.counted(usage)) + self.limit, is_open=False, by=by)

    @property
    def amount(self) -> str:
        """The limit as people write it."""
        return self.shown(self.limit)

    @property
    def whole(self) -> str:
        """All that may be spent."""
        return self.shown(self.until - self.base)

    def shown(self, number: int) -> str:
        return dollars(number) if self.unit is Unit.COST else f"{count(number)} tokens"


def parse_amount(text: str) -> tuple[Unit, int] | None:
    """A limit as people write it: `5`, `$0.50`, `200k tokens`. None for any other text, and for nothing."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        return None
    number, factor, unit = float(found[1]), _FACTORS[found[2].lower()], (found[3] or "").lower()
    is_tokens = unit.startswith("token")
    if factor > 1 and not is_tokens:
        return None
    amount = round(number * factor) if is_tokens else round(number * MICROS)
    return (Unit.TOKENS if is_tokens else Unit.COST, amount) if 0 < amount <= MOST else None


def new_budget(budget_id: str, unit: Unit, limit: int, usage: Usage) -> Budget:
    """A budget that counts from now."""
    base = Budget(budget_id, unit).counted(usage)
    return Budget(budget_id, unit, limit, base=base, until=base + limit)


def day_of(now: int) -> str:
    """The day of a time, in UTC."""
    return datetime.fromtimestamp(now / 1000, UTC).date().isoformat()


def spent_line(tokens: int, cost: int | None) -> str:
    """Such as `3.1k tokens, $0.02`."""
    return ", ".join(filter(None, (f"{count(tokens)} tokens" if tokens else "", dollars(cost) if cost else "")))


def dollars(micros: int) -> str:
    """Whole cents, and more digits for less than one."""
    amount = micros / MICROS
    return f"${amount:.2f}" if micros >= MICROS or micros % (MICROS // 100) == 0 else f"${amount:.4f}"


def count(number: int) -> str:
    """Such as `950`, `12.3k`, `2M`."""
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{number / unit:.1f}".removesuffix(".0") + name
    return str(number)
