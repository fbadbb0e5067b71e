"""Messages with roles: text that can be stored, validation, and the digest that proves a transcript complete."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAX_TEXT = 60_000
"""Characters of one message of a person; no chat platform sends longer ones."""
Message = Mapping[str, Any]
ROLES = ("system", "user", "assistant", "tool")
MAX_MESSAGE_BYTES = 256 * 1024
MAX_DEPTH = 100
CUT = "\n\n… This answer was too long and was cut here. Ask for the rest in smaller parts."
KICKOFF_PREFIX = "kickoff-"
"""How the ids of the service's kickoff messages begin."""


def whole(text: str) -> str:
    """The text as valid Unicode: a surrogate pair becomes its character, and half of one is replaced.

    UTF-8, and so a database, a queue and most platforms, cannot hold half a pair. JSON can: a program that cuts a text in
    the middle of an emoji sends it as `\\ud83d`.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def problem_with(raw: object) -> str | None:
    """Why `raw` is not a valid message, or None if it is. Unknown keys are allowed and stored."""
    if not isinstance(raw, Mapping):
        return "a message is an object with `role` and `content`"
    role = raw.get("role")
    if role not in ROLES:
        return f"role must be one of {', '.join(ROLES)}"
    content = raw.get("content")
    if content is not None and not isinstance(content, str | list):
        return "content must be text, a list of parts, or null"
    if not isinstance(raw.get("tool_calls") or [], list):
        return "tool_calls must be a list"
    if content is None and not raw.get("tool_calls"):
        return "content is missing (it may be null only beside tool_calls)"
    if role == "tool" and not isinstance(raw.get("tool_call_id"), str):
        return "a tool message needs tool_call_id, the id of the call that it answers"
    return _unsound(raw)


def is_reserved(message: Message) -> bool:
    """Whether a message carries a mark of the service's own messages: a client may repeat those, never add one."""
    named = message.get("id")
    return bool(message.get("internal")) or (isinstance(named, str) and named.startswith(KICKOFF_PREFIX))


def _unsound(raw: Message) -> str | None:
    """Why a message could not be stored and read back unchanged: nesting, NaN or Infinity, size."""
    level: list[Any] = [raw]
    for _ in range(MAX_DEPTH):
        if any(isinstance(value, float) and not math.isfinite(value) for value in level):
            return "NaN and Infinity are not allowed in JSON"
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            too_large = len(canonical(raw)) > MAX_MESSAGE_BYTES
            return f"a message is at most {MAX_MESSAGE_BYTES // 1024} KiB" if too_large else None
    return f"it is nested deeper than {MAX_DEPTH} levels"


def _inside(value: object) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def fitting_reply(text: str) -> str:
    """An agent's reply that is within the limit of a message: a longer one is cut, and says so."""
    encoded = text.encode("utf-8", "surrogatepass")
    keep = len(encoded)
    while (size := len(canonical({"role": "assistant", "content": text}))) > MAX_MESSAGE_BYTES:
        keep = keep * MAX_MESSAGE_BYTES // size - len(CUT.encode())
        text = encoded[:keep].decode("utf-8", "ignore") + CUT
    return text


def canonical(message: Message) -> bytes:
    """The canonical bytes of a message, equal on every machine."""
    return json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )


def digest(messages: Iterable[Message]) -> str:
    """`sha256:<hex>` over the canonical lines of a transcript; client and service compute it the same way."""
    running = hashlib.sha256()
    for message in messages:
        running.update(canonical(message) + b"\n")
    return f"sha256:{running.hexdigest()}"


def count_by_role(messages: Iterable[Message]) -> dict[str, int]:
    """How many messages each role has, in the order of `ROLES`."""
    counts = Counter(message["role"] for message in messages)
    return {role: counts[role] for role in ROLES if counts[role]}


def text_of(message: Message) -> str:
    """The text of a message, whether its content is plain text or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in content or () if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))


def ends_in_tool_results(messages: Sequence[Message]) -> bool:
    """Whether the transcript ends in the result of a tool, which the assistant has not answered."""
    return bool(messages) and messages[-1]["role"] == "tool"


def ends_in_unfinished_tool_call(messages: Sequence[Message]) -> bool:
    """Whether the transcript ends in a tool call without a result."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message["role"] == "tool":
            answered.add(str(message.get("tool_call_id")))
            continue
        calls = message.get("tool_calls") or ()
        return any(str(call.get("id")) not in answered for call in calls if isinstance(call, Mapping))
    return False
