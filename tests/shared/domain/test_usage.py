"""Sums of usage, and budgets: what counts, and as what people write and read it."""

import pytest

from shared.domain.usage import Budget, TurnUsage, Unit, Usage, count, day_of, dollars, new_budget, parse_amount

DAY, NEXT = "2026-11-18", "2026-11-19"


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("5", (Unit.COST, 5_000_000)),
        ("$0.01", (Unit.COST, 10_000)),
        (" 2.50 usd ", (Unit.COST, 2_500_000)),
        ("200k tokens", (Unit.TOKENS, 200_000)),
        ("1.5M tokens", (Unit.TOKENS, 1_500_000)),
        ("900 Tokens", (Unit.TOKENS, 900)),
        ("5k", None),
        ("0", None),
        ("0 tokens", None),
        ("-5", None),
        ("five", None),
        ("5 euros", None),
        ("1e9", None),
        ("９", None),
        ("", None),
        ("999999999m tokens", (Unit.TOKENS, 999_999_999_000_000)),
    ],
)
def test_an_amount_is_read_as_people_write_it(text: str, amount: tuple[Unit, int] | None) -> None:
    assert parse_amount(text) == amount


def test_tokens_of_turns_are_added_and_the_agents_cost_is_a_sum() -> None:
    usage = Usage().after(TurnUsage(100, 40_000, context=10, window=100), DAY)
    assert (usage.tokens, usage.cost, usage.day_tokens, usage.day_cost) == (100, 40_000, 100, 0)
    usage = usage.after(TurnUsage(50, 50_000), DAY)
    assert (usage.tokens, usage.cost, usage.day_tokens, usage.day_cost) == (150, 50_000, 150, 10_000)
    assert (usage.context, usage.window) == (10, 100)


def test_turns_in_the_terminal_are_in_the_agents_sum_once() -> None:
    usage = Usage().after(TurnUsage(1, 10_000), DAY)  # the terminal's turns cost 30,000 meanwhile
    usage = usage.after(TurnUsage(1, 45_000), DAY)
    assert usage.cost == 45_000


def test_a_sum_that_falls_back_is_not_counted_twice() -> None:
    """The agent was killed: its sum is what it had written before, 20,000, and one more turn."""
    usage = Usage().after(TurnUsage(1, 30_000), DAY).after(TurnUsage(1, 25_000), DAY)
    assert (usage.cost, usage.cost_told) == (30_000, 25_000)
    assert usage.after(TurnUsage(1, 27_000), DAY).cost == 32_000


def test_an_agent_without_cost_changes_no_cost() -> None:
    usage = Usage().after(TurnUsage(5), DAY)
    assert (usage.tokens, usage.cost) == (5, None)
    assert Usage(cost=3, cost_told=3).after(TurnUsage(5), DAY).cost == 3


def test_another_day_begins_at_nothing() -> None:
    usage = Usage().after(TurnUsage(5, 10), DAY).after(TurnUsage(7, 30), NEXT)
    assert (usage.day, usage.day_tokens, usage.day_cost, usage.tokens) == (NEXT, 7, 20, 12)
    assert day_of(1_795_046_399_999) < day_of(1_795_046_400_000)


@pytest.mark.parametrize("unit", [Unit.COST, Unit.TOKENS])
def test_a_budget_counts_from_its_command(unit: Unit) -> None:
    before = Usage(tokens=500, cost=500)
    budget = new_budget("b", unit, 100, before)
    assert (budget.spent(before), budget.percent(before), budget.is_over(before)) == (0, 0, False)
    almost, over = Usage(tokens=599, cost=599), Usage(tokens=600, cost=600)
    assert (budget.percent(almost), budget.is_over(almost), budget.is_over(over)) == (99, False, True)


def test_going_on_adds_one_limit_from_what_is_spent() -> None:
    budget, far = Budget("b", Unit.COST, 100, base=0, until=100, asked=1, is_open=True), Usage(cost=730)
    assert budget.going_on(far).until == 830
    assert budget.going_on(Usage(cost=100)).until == 200
    assert not budget.going_on(far).is_over(far)


def test_no_budget_is_never_over() -> None:
    assert not new_budget("b", Unit.OFF, 0, Usage()).is_over(Usage(tokens=10**12, cost=10**12))


@pytest.mark.parametrize(
    ("micros", "text"), [(10_000, "$0.01"), (4_000, "$0.0040"), (5_000_000, "$5.00"), (1_234_567, "$1.23")]
)
def test_dollars_are_short(micros: int, text: str) -> None:
    assert dollars(micros) == text


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (950, "950"), (12_345, "12.3k"), (2_000_000, "2M")])
def test_counts_are_short(number: int, text: str) -> None:
    assert count(number) == text


def test_a_line_says_what_is_known() -> None:
    known = Usage(tokens=12_300, cost=310_000, context=45_000, window=200_000)
    assert known.line == "12.3k tokens, $0.31, context 45k of 200k (22 %)"
    assert Usage().line == ""
