"""Turn a model's text into a reply: without its thoughts, and with a note where it was cut off."""

import re
from typing import Literal

from shared.agents.attempts import EmptyAnswer
from shared.errors import AgentFailed

Stop = Literal["done", "length", "filter"]

CUT_OFF = {
    "length": "*(The answer was cut off at the model's length limit. Send “go on” for the rest.)*",
    "filter": "*(The provider's content filter stopped the answer here.)*",
}
NOTHING = {
    "length": "The model reached its length limit before it wrote an answer. Ask for something smaller, or in steps.",
    "filter": "The provider's content filter blocked the answer. Rephrase your message.",
}
NO_MODEL = "No model is set for this agent. The operator must set HANDOFF_AGENT_MODEL."
WANTED_TOOL = "The model only tried to call a tool, and it has none here. Ask it to answer in words."
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_CODE_MARK = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")


def reply_text(text: str, stop: Stop = "done") -> str:
    """The reply. For an empty text raises AgentFailed if `stop` explains it, EmptyAnswer otherwise."""
    said = _THOUGHTS.sub("", text).strip()
    if not said:
        raise AgentFailed(NOTHING[stop]) if stop in NOTHING else EmptyAnswer
    return said if stop == "done" else f"{_closed(said)}\n\n{CUT_OFF[stop]}"


def said_so_far(text: str) -> str:
    """The part to show of a text that is still being written: nothing while the model thinks."""
    start = text[:64].lstrip()
    if start and any(tag.startswith(start) for tag in ("<think>", "<thinking>")):
        return ""  # perhaps the tag itself, half written
    return _THOUGHTS.sub("", text).strip()


def refusal(text: str) -> AgentFailed:
    """The error for an answer that the model itself declined."""
    return AgentFailed(f"The agent declined to answer: {brief(text)} Rephrase your message, or ask for something else.")


def brief(text: str, limit: int = 200) -> str:
    """A provider's text on one short line that ends like a sentence."""
    line = " ".join(text.split())
    line = line if len(line) <= limit else line[:limit].rstrip() + "…"
    return line if line.endswith((".", "!", "?", "…")) else f"{line}."


def _closed(text: str) -> str:
    """The text with its open code block closed, so that the note after it is not read as code."""
    opening = ""
    for line in text.splitlines():
        found = _CODE_MARK.match(line)
        if not found:
            continue
        if not opening:
            opening = found[1]
        elif found[1].startswith(opening) and not found[2].strip():
            opening = ""
    return f"{text}\n{opening}" if opening else text
