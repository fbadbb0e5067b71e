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
    is_answered = False
    for one in reversed(known):
        role, text = one.get("role"), text_of(one.get("content")).strip()
        if role not in {"user", "assistant"} or not text:
            continue
        for at in range(len(messages) - 1, -1, -1):
            if messages[at]["role"] == role and _is_same(text_of(messages[at].get("content")).strip(), text, str(role)):
                return _unanswered(messages[at + 1 :]) if role == "user" and is_answered else messages[at + 1 :]
        is_answered = is_answered or role == "assistant"
    return []


def _is_same(native: str, text: str, role: str) -> bool:
    """The runner may say something before the words of the user."""
    return native == text or (role == "user" and native.endswith(f"\n\n{text}"))


def _unanswered(messages: list[Message]) -> list[Message]:
    """Without the answer to the words before: the service has it in the form in which the chat got it."""
    return messages[next((at for at, one in enumerate(messages) if one["role"] == "user"), len(messages)) :]
