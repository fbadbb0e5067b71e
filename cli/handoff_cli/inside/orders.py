"""`/handoff …` in what the user typed."""

import re
from dataclasses import dataclass, replace
from typing import Literal

# Agents whose input line refuses slash commands that it does not know: there `handoff telegram` is understood, too.
WITHOUT_SLASH = ("codex", "gemini")

_TYPED = re.compile(r"[/$](?:handoff:)?handoff(?:\s+(?P<rest>.*))?", re.DOTALL)
_PLAIN = re.compile(r"handoff\s+(?P<rest>[\w-]+)")
_PLAIN_WITH_WORDS = re.compile(r"handoff[ \t]+(?P<rest>[\w-]+[ \t].+)", re.DOTALL)
# A refused prompt returns to the input line, and the next command is typed behind it.
_BEHIND = re.compile(r".*?[/$]handoff[ \t]+(?P<rest>[\w-]+)", re.DOTALL)
_BEHIND_PLAIN = re.compile(r".*?\bhandoff[ \t]+(?P<rest>back|status)", re.DOTALL)

Verb = Literal["move", "back", "status", "help"]


@dataclass(frozen=True)
class Order:
    """What the user wants; `platform` and `words` (the first message there) only to move.

    `perhaps`: the prompt may be a sentence that begins with "handoff". It is an order if there is such a platform.
    """

    verb: Verb
    platform: str = ""
    words: str = ""
    perhaps: bool = False


def parse(prompt: str, agent: str, *, behind: bool) -> Order | None:
    """The order in a prompt; None if the prompt is for the model. `behind`: refused words may stand before it."""
    forms = [_TYPED, *([_BEHIND] if behind else [])]
    if agent in WITHOUT_SLASH:
        forms += [_PLAIN, *([_BEHIND_PLAIN] if behind else [])]
    found = next(filter(None, (form.fullmatch(prompt.strip()) for form in forms)), None)
    if found is not None:
        return _order((found["rest"] or "").strip())
    if agent in WITHOUT_SLASH and (found := _PLAIN_WITH_WORDS.fullmatch(prompt.strip())):
        order = _order(found["rest"])
        return replace(order, perhaps=True) if order.verb == "move" else None
    return None


def typed(agent: str, words: str) -> str:
    """What to type for an order in this agent."""
    if agent == "hermes":
        return f"/tochat {words}"
    return f"{'' if agent in WITHOUT_SLASH else '/'}handoff {words}"


def _order(rest: str) -> Order:
    if not rest:
        return Order("help")
    first, *more = rest.split(maxsplit=1)
    words = "".join(more)
    verb = first.lower()
    if verb in {"help", "-h", "--help"}:
        return Order("help")
    if verb == "back":
        return Order("back")
    if verb == "status":
        return Order("status")
    return Order("move", platform=verb, words=words.strip())
