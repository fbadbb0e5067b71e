"""Budgets and sums of usage as maps in a META item, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shared.domain.usage import Budget, Unit, Usage
from shared.store.values import is_number, is_set, map_at, number_at, text_at


def budget_value(budget: Budget | None) -> Mapping[str, Any] | None:
    if budget is None:
        return None
    return {
        "id": budget.id,
        "unit": budget.unit.value,
        "limit": budget.limit,
        "base": budget.base,
        "until": budget.until,
        "asked": budget.asked,
        "open": budget.is_open,
        "by": budget.by,
    }


def budget_of(value: Mapping[str, Any]) -> Budget | None:
    """The budget of a session; None without an id, or with a unit or a limit that cannot be read."""
    id_, unit = text_at(value, "id"), value.get("unit")
    if not id_ or unit not in tuple(Unit) or not is_number(value.get("limit")) or not is_number(value.get("until")):
        return None
    return Budget(
        id=id_,
        unit=Unit(unit),
        limit=number_at(value, "limit"),
        base=number_at(value, "base"),
        until=number_at(value, "until"),
        asked=number_at(value, "asked"),
        is_open=is_set(value, "open"),
        by=text_at(value, "by", ""),
    )


def usage_value(usage: Usage) -> Mapping[str, Any] | None:
    """What is nothing is not stored."""
    return (
        {name: value for name, value in asdict(usage).items() if value not in (None, "")} if usage != Usage() else None
    )


def usage_of(item: Mapping[str, Any]) -> Usage:
    value = map_at(item, "usage")
    return Usage(
        tokens=number_at(value, "tokens"),
        cost=number_at(value, "cost") if is_number(value.get("cost")) else None,
        cost_told=number_at(value, "cost_told"),
        context=number_at(value, "context"),
        window=number_at(value, "window"),
        day=text_at(value, "day", ""),
        day_tokens=number_at(value, "day_tokens"),
        day_cost=number_at(value, "day_cost"),
    )
