"""What the fake model does. The last line that the person said is the script."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["user", "assistant", "tool"]

_USE = re.compile(r"use: (?P<tool>\w+) (?P<arguments>\{.*\})")
_RUN = re.compile(r"(?P<how>run!?): (?P<command>.+)")
# The tools that run a command, by agent: Claude Code, Codex (two generations), opencode.
_SHELLS = ("Bash", "exec_command", "shell_command", "shell", "bash")
_SHOWN = 300
TOKENS = 10
"""Of a request, as the model counts them if its answer says nothing else."""


@dataclass(frozen=True)
class Item:
    """One message of the conversation as the model was sent it, without what the agent added itself."""

    role: Role
    text: str


@dataclass(frozen=True)
class Call:
    """One request to the model. A background call is the agent's own: a title, a suggestion for the next prompt."""

    api: str
    items: tuple[Item, ...]
    tools: frozenset[str]
    background: bool
    body: dict[str, Any]
    namespaces: dict[str, str] = field(default_factory=dict)

    @property
    def said(self) -> list[str]:
        """The person's words, oldest first."""
        return [item.text for item in self.items if item.role == "user"]

    @property
    def heard(self) -> str:
        """Everything in the conversation, the model's own answers and tool output included."""
        return "\n".join(item.text for item in self.items)


@dataclass(frozen=True)
class Say:
    """Answer with this text."""

    text: str
    tokens: int = TOKENS


@dataclass(frozen=True)
class Use:
    """Call this tool."""

    tool: str
    arguments: dict[str, Any]
    namespace: str = ""
    """Of a tool that Codex announces in the conversation, as it does for its newer models."""
    tokens: int = TOKENS

    @property
    def arguments_json(self) -> str:
        return json.dumps(self.arguments)


@dataclass(frozen=True)
class Hold:
    """Say this, then nothing more until the client goes away or the model is told to go on."""

    text: str
    tokens: int = TOKENS


Answer = Say | Use | Hold


def decide(call: Call) -> Answer:
    """The answer to one request.

    `run: COMMAND` calls the shell tool, `run!: COMMAND` asks Codex to leave its sandbox for it, `use: TOOL JSON` calls any
    tool, and `hold` begins an answer that does not end. After a tool's output the model repeats it; else it repeats all
    that the person said.
    """
    if call.background:
        return Say(json.dumps({"title": "A fake title"}))
    if call.items and call.items[-1].role == "tool":
        return Say(f"The tool said: {call.items[-1].text.strip()[-_SHOWN:]}")
    words = call.said[-1].strip().splitlines() if call.said else []
    last = words[-1].strip() if words else ""
    shell = next((name for name in _SHELLS if name in call.tools), None)
    if shell and (asked := _RUN.fullmatch(last)):
        return Use(shell, _arguments(shell, asked["command"], escalate=asked["how"] == "run!"))
    if used := _USE.fullmatch(last):
        return Use(used["tool"], json.loads(used["arguments"]), call.namespaces.get(used["tool"], ""))
    if last == "hold":
        return Hold("One moment, please.")
    return Say("You said: " + " | ".join(text.strip()[-_SHOWN:] for text in call.said))


def _arguments(shell: str, command: str, *, escalate: bool) -> dict[str, Any]:
    if shell == "exec_command":
        wish = {"sandbox_permissions": "require_escalated", "justification": "May I?"} if escalate else {}
        return {"cmd": command, **wish}
    if shell == "shell":
        return {"command": ["bash", "-lc", command]}
    return {"command": command, "description": "a step"}


def flat(content: Any) -> str:
    """The text of a message's content: a string, or parts that have text, output or content."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(flat, content)))
    if isinstance(content, dict):
        return flat(content.get("text") or content.get("output") or content.get("content") or "")
    return ""
