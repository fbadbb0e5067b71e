"""Sessions that the real programs wrote (with a model that tells what it saw), in short."""

import re
from pathlib import Path
from typing import Any

from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source

SAMPLES = Path(__file__).parents[1] / "samples"
WORK = Path("/home/me/work")
FAKE = ("assistant", "Fake answer")
TOOL = ("assistant", "Tool said")


def read(tool: str, path: Path) -> list[tuple[str, str]]:
    """(role, text or names of calls), with the model's long answers as `answer`."""
    return shortened(read_session(tool, Source(WORK, {}, path)).messages)


def shortened(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(message["role"], _text(message)) for message in messages]


def _text(message: dict[str, Any]) -> str:
    calls = ",".join(call["id"] for call in message.get("tool_calls", []))
    text = re.sub(r"(?s)^(Fake answer|Tool said).*", r"\1", message["content"] or "")
    return " ".join(filter(None, (text, calls)))


def said_by_user(messages: list[tuple[str, str]]) -> list[str]:
    return [text for role, text in messages if role == "user"]


def record(kind: str, uuid: str, parent: str, content: Any, **more: Any) -> dict[str, Any]:
    """A line of Claude Code."""
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "message": {"role": kind, "content": content}, **more}
