"""Show messages: rendered Markdown on a terminal, plain text elsewhere."""

import json
from collections.abc import Iterable
from typing import Any

from handoff_cli.transcripts.messages import Message
from handoff_cli.ui.terminal import Terminal
from handoff_cli.ui.text import clean, one_line

_STYLES = {"user": "cyan", "assistant": "green", "tool": "dim", "system": "dim"}
_NAMES = {"user": "you", "assistant": "agent"}
_TOOL_WIDTH = 160


def show(terminal: Terminal, messages: Iterable[Message]) -> int:
    """Show the messages except internal ones, and return the number of shown ones."""
    count = 0
    for message in messages:
        if message.get("internal"):
            continue
        count += 1
        role = str(message["role"])
        _show_one(terminal, role, message)
    return count


def _show_one(terminal: Terminal, role: str, message: Message) -> None:
    text = text_of(message.get("content"))
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
    """Show one text, with its Markdown rendered if the terminal has colours."""
    if not terminal.colour:
        terminal.say(clean(text))
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.markdown import Markdown  # noqa: PLC0415 - see above

    terminal.clear_progress()
    Console(file=terminal.stdout, highlight=False).print(Markdown(clean(text)))


def text_of(content: Any) -> str:
    """The text of a content (text, null or a list of parts)."""
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
