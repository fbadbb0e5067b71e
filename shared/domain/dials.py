"""Dials: what a person sets of the agent that answers in a chat."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from shared.domain.orders import Choice
from shared.domain.question_text import as_code

DIALS: Mapping[str, str] = MappingProxyType({"model": "Model", "mode": "Mode", "effort": "Effort"})
"""The dials by the names of their commands, each with the word that begins a line about it."""
MAX_VALUE = 200


def attribute(dial: str) -> str:
    """The attribute of a session that keeps a dial."""
    return f"dial_{dial}"


def is_now(dial: str, value: str) -> str:
    """The line that says what a dial is set to."""
    return f"{DIALS[dial]}: {as_code(value)}"


def offered(dial: str, current: str, choices: Sequence[Choice]) -> str:
    """The list of what may be chosen, as Markdown."""
    lines = [
        f"- {as_code(choice.value)}{_named(choice)}{' ← now' if choice.value == current else ''}" for choice in choices
    ]
    if not lines:
        return (
            f"{is_now(dial, current)}. This agent offers no other." if current else "This agent offers no choice here."
        )
    return "\n".join([f"**{DIALS[dial]}** — send `/{dial} NAME`:", *lines])


def _named(choice: Choice) -> str:
    """What else the agent says about a value, as plain text."""
    said = " — ".join(text for text in (choice.name, choice.description) if text and text != choice.value)
    return f" {as_code(said)}" if said else ""
