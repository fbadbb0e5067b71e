"""Shows messages: Markdown where a terminal can, plain text elsewhere."""

import json
from collections.abc import Iterable
from typing import Any

from handoff_cli.sessions.transcripts import Message
from handoff_cli.ui.terminal import Terminal
from handoff_cli.ui.texts import clean, one_line

_STYLES = {"user": "cyan", "assistant": "green", "tool": "dim", "system": "dim"}
_NAMES = {"user": "you", "assistant": "agent"}
_TOOL_WIDTH = 160


def show(terminal: Terminal, messages: Iterable[Message]) -> int:
    """Shows the messages that were meant for people, and returns how many those were."""
    count = 0
    for message in messages:
        if message.get("internal"):
            continue
        count += 1
        role = str(message["role"])
        _show_one(terminal, role, message)
    return count


def _show_one(terminal: Terminal, role: str, message: Message) -> None:
    text = words(message.get("content"))
    label = terminal.style(f"{message.get('name') or _NAMES.get(role, role)}:", _STYLES.get(role, "dim"))
    if role in {"tool", "system"}:
        terminal.say(f"{label} {terminal.style(one_line(text, _TOOL_WIDTH), 'dim')}")
        return
    terminal.say(label)
    if text.strip():
        markdown(terminal, text)
    for call in message.get("tool_calls") or []:
        terminal.say(terminal.style(f"  → {_call(call)}", "dim"))


def markdown(terminal: Terminal, text: str) -> None:
    """One text with its Markdown drawn, if the terminal can."""
    if not terminal.colour:
        terminal.say(clean(text))
        return
    from rich.console import Console  # noqa: PLC0415 - only where Markdown is drawn
    from rich.markdown import Markdown  # noqa: PLC0415 - see above

    terminal.settle()
    Console(file=terminal.stdout, highlight=False).print(Markdown(clean(text)))


def words(content: Any) -> str:
    """The text of a content that may be text, nothing, or a list of parts."""
    if isinstance(content, list):
        return "\n".join(map(_part, content))
    return str(content or "")


def _part(part: Any) -> str:
    if isinstance(part, dict):
        return str(part.get("text") or f"[{part.get('type', 'attachment')}]")
    return str(part)


def _call(call: Any) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return one_line(json.dumps(call, ensure_ascii=False), _TOOL_WIDTH)
    return one_line(f"{function.get('name')}({function.get('arguments') or ''})", _TOOL_WIDTH)
