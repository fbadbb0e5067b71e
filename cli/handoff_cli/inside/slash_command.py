"""`/handoff …` in what the user typed."""

import re
from dataclasses import dataclass, replace
from typing import Literal

# Agents whose input line refuses slash commands that it does not know: there `handoff telegram` is understood, too.
WITHOUT_SLASH = ("codex", "gemini")

_TYPED = re.compile(r"[/$](?:handoff:)?handoff(?:\s+(?P<rest>.*))?", re.DOTALL)
_PLAIN = re.compile(r"handoff\s+(?P<rest>[\w-]+)")
_PLAIN_WITH_MESSAGE = re.compile(r"handoff[ \t]+(?P<rest>[\w-]+[ \t].+)", re.DOTALL)
# A refused prompt returns to the input line, and the next command is typed behind it.
_BEHIND = re.compile(r".*?[/$]handoff[ \t]+(?P<rest>[\w-]+)", re.DOTALL)
_BEHIND_PLAIN = re.compile(r".*?\bhandoff[ \t]+(?P<rest>back|status)", re.DOTALL)

Verb = Literal["move", "back", "status", "help"]


@dataclass(frozen=True)
class SlashCommand:
    """The request of the user; `platform` and `message` (the first message there) only to move.

    `perhaps`: the prompt may be a sentence that begins with "handoff". It is a command if there is such a platform.
    """

    verb: Verb
    platform: str = ""
    message: str = ""
    perhaps: bool = False


def parse(prompt: str, agent: str, *, behind: bool) -> SlashCommand | None:
    """The command in a prompt; None if the prompt is for the model. `behind`: a refused prompt may stand before it."""
    forms = [_TYPED, *([_BEHIND] if behind else [])]
    if agent in WITHOUT_SLASH:
        forms += [_PLAIN, *([_BEHIND_PLAIN] if behind else [])]
    found = next(filter(None, (form.fullmatch(prompt.strip()) for form in forms)), None)
    if found is not None:
        return _command((found["rest"] or "").strip())
    if agent in WITHOUT_SLASH and (found := _PLAIN_WITH_MESSAGE.fullmatch(prompt.strip())):
        command = _command(found["rest"])
        return replace(command, perhaps=True) if command.verb == "move" else None
    return None


def typed(agent: str, arguments: str) -> str:
    """The text to type for a command in this agent."""
    if agent == "hermes":
        return f"/tochat {arguments}"
    return f"{'' if agent in WITHOUT_SLASH else '/'}handoff {arguments}"


def _command(rest: str) -> SlashCommand:
    if not rest:
        return SlashCommand("help")
    first, *more = rest.split(maxsplit=1)
    message = "".join(more)
    verb = first.lower()
    if verb in {"help", "-h", "--help"}:
        return SlashCommand("help")
    if verb == "back":
        return SlashCommand("back")
    if verb == "status":
        return SlashCommand("status")
    return SlashCommand("move", platform=verb, message=message.strip())
