"""Evaluates IAM policy documents."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

KNOWN = {"Sid", "Effect", "Action", "Resource", "Condition"}
LEADING_KEYS = ("ForAllValues:StringEquals", "dynamodb:LeadingKeys")
"""The one supported condition: the partition keys of the items that a call names."""


class UnreadableStatementError(ValueError):
    """A statement has elements that are not supported, such as NotAction or an unknown condition."""

    def __init__(self, keys: Iterable[str]) -> None:
        super().__init__(
            f"A policy statement uses {', '.join(sorted(keys))}, which the local cloud does not support. Nothing was "
            "allowed. Add support to local/cloud/moto_patches/policies.py, or write the statement without it."
        )


def is_allowed(
    policies: Iterable[Mapping[str, Any]], action: str, resource: str, keys: frozenset[str] = frozenset()
) -> bool:
    """Whether a statement allows it and none denies it, for items with these partition keys.

    Raises UnreadableStatementError on unsupported elements.
    """
    effects = {s["Effect"] for s in statements_of(policies) if covers(s, action, resource) and _holds(s, keys)}
    return effects == {"Allow"}


def statements_of(policies: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return all statements of all policies. Raises UnreadableStatementError on unsupported elements.

    moto's CloudFormation keeps a statement that is `AWS::NoValue` as None; the real one removes it.
    """
    found = [statement for policy in policies for statement in as_list(policy["Statement"]) if statement is not None]
    for statement in found:
        unknown = set(statement) - KNOWN
        for operator, tests in statement.get("Condition", {}).items():
            unknown |= {f"{operator} {name}" for name in tests if (operator, name) != LEADING_KEYS}
        if unknown:
            raise UnreadableStatementError(unknown)
    return found


def covers(statement: Mapping[str, Any], action: str, resource: str) -> bool:
    """Whether the statement applies to this action on this resource, allowing or denying it."""
    return any(_pattern(a.lower()).match(action.lower()) for a in as_list(statement["Action"])) and any(
        _pattern(r).match(resource) for r in as_list(statement["Resource"])
    )


def _holds(statement: Mapping[str, Any], keys: frozenset[str]) -> bool:
    operator, name = LEADING_KEYS
    allowed = statement.get("Condition", {}).get(operator, {}).get(name)
    return allowed is None or keys <= set(as_list(allowed))


def as_list(value: Any) -> list[Any]:
    """Return a list; IAM accepts a single value in its place."""
    return value if isinstance(value, list) else [value]


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    escaped = re.escape(text).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(rf"{escaped}\Z")
