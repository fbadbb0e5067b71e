"""The table of chat commands; help texts, platform menus and the parser derive from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Argument:
    """The optional text after a command."""

    name: str
    description: str


@dataclass(frozen=True)
class ChatCommand:
    """`listed` commands appear in `/help` and in the menus of platforms that have them."""

    name: str
    description: str
    argument: Argument | None = None
    listed: bool = True


COMMANDS: Mapping[str, ChatCommand] = MappingProxyType(
    {
        command.name: command
        for command in (
            ChatCommand(
                "resume",
                "Bring one of your sessions here, or list them",
                Argument("session", "Its title or id; without it, a list"),
            ),
            ChatCommand("new", "Start a new session here"),
            ChatCommand("sethome", "Let your handoffs arrive in this chat"),
            ChatCommand("status", "Show which session lives here"),
            ChatCommand("stop", "Stop the agent's current turn"),
            ChatCommand("approve", "Allow what your agent asks for", Argument("number", "The number of the question")),
            ChatCommand("deny", "Refuse what your agent asks for", Argument("number", "The number of the question")),
            ChatCommand(
                "answer",
                "Answer a question of your agent",
                Argument("answer", "The number of the question, then those of its options, or words"),
            ),
            ChatCommand("skip", "Leave a question open", Argument("number", "The number of the question")),
            ChatCommand(
                "queue",
                "Say something once the agent has answered",
                Argument("words", "They wait until the turn that runs is over"),
            ),
            ChatCommand("cloud", "Let the model of this service answer here"),
            ChatCommand("machine", "Let your own agent on your machine answer here"),
            ChatCommand(
                "model", "Show or choose the model of the agent", Argument("name", "The model; without it, a list")
            ),
            ChatCommand("mode", "Show or choose how the agent works", Argument("name", "The mode; without it, a list")),
            ChatCommand(
                "effort", "Show or choose how long the agent thinks", Argument("name", "The effort; without it, a list")
            ),
            ChatCommand("usage", "Show what this session has spent"),
            ChatCommand(
                "budget",
                "Show or set what this session may spend",
                Argument("amount", "Such as 5 for $5, or 200k tokens, or off; without it, what is set"),
            ),
            ChatCommand(
                "link",
                "Link your account here to your terminal",
                Argument("code", "The code that `handoff link` shows; only in a private chat with the bot"),
            ),
            ChatCommand("help", "List these commands"),
            ChatCommand(
                "handoff",
                "Move this session to a new thread on another platform",
                Argument("platform", "Where to, such as slack; first words for the agent may follow"),
            ),
            ChatCommand(
                "share",
                "Let other people talk in this thread",
                Argument("off", "Write off to end it; without it, begin"),
            ),
            # Telegram sends it when a person opens the chat with the bot for the first time.
            ChatCommand("start", "List these commands", listed=False),
        )
    }
)


def parse_command(text: str) -> tuple[str, str] | None:
    """The name and the argument of a known command, or None."""
    matched = _COMMAND.fullmatch(text.strip())
    if matched is None or matched[1].lower() not in COMMANDS:
        return None
    return matched[1].lower(), (matched[2] or "").strip()


def help_text() -> str:
    """The answer to `/help`, in Markdown."""
    lines = [f"- `{_usage(command)}` {command.description}" for command in COMMANDS.values() if command.listed]
    return "\n".join(["**Commands here**", *lines])


def _usage(command: ChatCommand) -> str:
    return f"/{command.name} [{command.argument.name}]" if command.argument else f"/{command.name}"
