"""Reads IAM policy documents: does any statement allow this, and does none deny it?"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

KNOWN = {"Sid", "Effect", "Action", "Resource"}


class UnreadableStatementError(ValueError):
    """A statement says more than this reader understands; guessing would make the check worthless."""

    def __init__(self, keys: Iterable[str]) -> None:
        super().__init__(
            f"A policy statement uses {', '.join(sorted(keys))}, which the local cloud does not check. "
            "Nothing was allowed. Teach local/cloud/moto_patches/policies.py about it, or write the statement without."
        )


def is_allowed(policies: Iterable[Mapping[str, Any]], action: str, resource: str) -> bool:
    """An explicit Deny wins; without an Allow the answer is no. Raises UnreadableStatementError on conditions."""
    effects = {s["Effect"] for s in statements_of(policies) if covers(s, action, resource)}
    return effects == {"Allow"}


def statements_of(policies: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All statements of all policies, each checked for keys that nobody here understands.

    moto keeps a statement that a condition took out (`AWS::NoValue`) as None, where CloudFormation drops it.
    """
    found = [statement for policy in policies for statement in as_list(policy["Statement"]) if statement is not None]
    for statement in found:
        if unknown := set(statement) - KNOWN:
            raise UnreadableStatementError(unknown)
    return found


def covers(statement: Mapping[str, Any], action: str, resource: str) -> bool:
    """Whether the statement speaks of this action on this resource, whatever its effect."""
    return any(_pattern(a.lower()).match(action.lower()) for a in as_list(statement["Action"])) and any(
        _pattern(r).match(resource) for r in as_list(statement["Resource"])
    )


def as_list(value: Any) -> list[Any]:
    """IAM writes a list of one as the one."""
    return value if isinstance(value, list) else [value]


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    escaped = re.escape(text).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(rf"{escaped}\Z")
