"""Which messages of a native session the service does not have yet."""

from collections.abc import Mapping, Sequence
from typing import Any

from handoff_cli.transcripts.messages import Message, canonical
from handoff_cli.ui.messages import text_of

ALIGNED_BY = 50
"""How many of the last messages that the service has are compared."""


def after_stored(messages: list[Message], known: Sequence[Mapping[str, Any]], stored: int) -> list[Message]:
    """The messages behind those that are stored. `known` are the last ones of these.

    What was said in chats stands in both, in another form: then the last words that both have decide. Without such words
    nothing is added, rather than all of it twice.
    """
    if known and stored <= len(messages) and canonical(messages[stored - 1]) == canonical(dict(known[-1])):
        return messages[stored:]
    for one in reversed(known):
        text = text_of(one.get("content")).strip()
        if one.get("internal") or one.get("role") not in {"user", "assistant"} or not text:
            continue
        for at in range(len(messages) - 1, -1, -1):
            if messages[at]["role"] == one["role"] and text_of(messages[at].get("content")).strip() == text:
                return messages[at + 1 :]
    return []
