"""Messages of a transcript: their rules, their canonical form, and digest and counts over them."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from handoff_cli.errors import UsageProblem
from handoff_cli.transcripts.pictures import Picture

Message = dict[str, Any]

ROLES = frozenset({"system", "user", "assistant", "tool"})
MESSAGE_LIMIT = 256 * 1024


@dataclass(frozen=True)
class Transcript:
    """Messages in order, and what the file says about their session."""

    messages: list[Message]
    title: str | None = None
    model: str | None = None
    source: str | None = None
    cwd: str | None = None
    notes: tuple[str, ...] = ()
    native_id: str | None = None
    """The id under which the tool itself continues the session; None if that is not certain."""
    pictures: Mapping[str, Picture] = field(default_factory=dict, repr=False)
    """Those that messages name in `files`, by their ids."""


def canonical(message: Mapping[str, Any]) -> bytes:
    """The canonical JSON of a message, which client and service measure and digest."""
    text = json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def encode(message: Mapping[str, Any]) -> bytes:
    """The same message as valid UTF-8 for a request; unpaired surrogates, as tools leave them, are escaped."""
    try:
        return json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(message, sort_keys=True, separators=(",", ":")).encode()


def digest(messages: Iterable[Message]) -> str:
    """sha256 over the canonical JSON of each message and a newline, in order."""
    total = hashlib.sha256()
    for message in messages:
        total.update(canonical(message) + b"\n")
    return f"sha256:{total.hexdigest()}"


def count_by_role(messages: Iterable[Message]) -> dict[str, int]:
    """Number of messages per role, in order of first appearance."""
    return dict(Counter(str(message["role"]) for message in messages))


def check(messages: list[Message], shown: str) -> None:
    """Raise UsageProblem with the number of the first message that the service would reject."""
    for number, message in enumerate(messages, start=1):
        if problem := problem_of(message):
            raise UsageProblem(f"{shown}, message {number}: {problem}. Nothing was sent.")


def problem_of(message: Any) -> str | None:
    """Why the service would reject this message; None if it is valid."""
    if not isinstance(message, dict):
        return 'a message is an object such as {"role": "user", "content": "…"}'
    role, content, calls = message.get("role"), message.get("content"), message.get("tool_calls")
    if not isinstance(role, str) or role not in ROLES:
        return f"unknown role {role!r}; use {', '.join(sorted(ROLES))}" if "role" in message else 'no "role"'
    if content is not None and not isinstance(content, str | list):
        return '"content" must be text, null or a list of parts'
    if calls is not None and not isinstance(calls, list):
        return '"tool_calls" must be a list'
    if content is None and not calls:
        return 'neither "content" nor "tool_calls"'
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        return 'a tool message needs a "tool_call_id"'
    size = len(canonical(message))
    if size > MESSAGE_LIMIT:
        return f"the message has {size // 1024} KiB; the limit is {MESSAGE_LIMIT // 1024} KiB"
    return None
