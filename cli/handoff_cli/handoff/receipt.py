"""What was handed over, counted and digested here, to compare with what the service says has arrived."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from handoff_cli.sessions.transcripts import Message, canonical


def digest(messages: Iterable[Message]) -> str:
    """sha256 over each message's canonical JSON and a newline, in order."""
    total = hashlib.sha256()
    for message in messages:
        total.update(canonical(message) + b"\n")
    return f"sha256:{total.hexdigest()}"


def by_role(messages: Iterable[Message]) -> dict[str, int]:
    """How many messages each role has, in order of first appearance."""
    return dict(Counter(str(message["role"]) for message in messages))


def counted(roles: Mapping[str, int]) -> str:
    """`20 user, 18 assistant, 2 tool`."""
    return ", ".join(f"{count} {role}" for role, count in roles.items())


def mismatch(receipt: Mapping[str, Any], expected: str) -> str | None:
    """What is wrong with a receipt, in one sentence; None if it proves that all arrived."""
    arrived = receipt.get("digest")
    if arrived == expected:
        return None
    return (
        f"The transcript did not arrive as it was sent: the service has {receipt.get('message_count', '?')} messages "
        f"with digest {arrived}, here it is {expected}."
    )


def size(count: int) -> str:
    """A number of bytes for a person."""
    if count < 1024:
        return f"{count} bytes"
    if count < 1024 * 1024:
        return f"{count / 1024:.0f} KiB"
    return f"{count / 1024 / 1024:.1f} MiB"
