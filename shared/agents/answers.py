"""A model's words as a reply: without its thoughts, whole, or saying where and why they end."""

import re
from typing import Literal

from shared.agents.attempts import EmptyAnswer
from shared.errors import AgentFailed

Stop = Literal["done", "length", "filter"]

CUT_OFF = {
    "length": "*(The answer was cut off at the model's length limit. Say “go on” for the rest.)*",
    "filter": "*(The provider's content filter stopped the answer here.)*",
}
NOTHING = {
    "length": "The model used up its length limit before it said a word. Ask for something smaller, or in steps.",
    "filter": "The provider's content filter kept the agent from answering. Say it in other words.",
}
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")


def reply_text(text: str, stop: Stop = "done") -> str:
    """The reply. Raises EmptyAnswer where nothing was said for no reason, AgentFailed where there is one."""
    said = _THOUGHTS.sub("", text).strip()
    if not said:
        raise AgentFailed(NOTHING[stop]) if stop in NOTHING else EmptyAnswer
    return said if stop == "done" else f"{_closed(said)}\n\n{CUT_OFF[stop]}"


def refusal(words: str) -> AgentFailed:
    """The model itself would rather not."""
    return AgentFailed(
        f"The agent declined to answer: {brief(words)} Say it in other words, or ask for something else."
    )


def brief(words: str, limit: int = 200) -> str:
    """Somebody else's words on one short line, ending like a sentence."""
    line = " ".join(words.split())
    line = line if len(line) <= limit else line[:limit].rstrip() + "…"
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def _closed(text: str) -> str:
    """The text with a code fence that the cut left open closed, so that our own words stay outside of it."""
    fence = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if not found:
            continue
        if not fence:
            fence = found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return f"{text}\n{fence}" if fence else text
