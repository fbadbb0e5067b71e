"""The table of chat commands; help texts, platform menus and the parser derive from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from shared.domain.dials import DIALS
from shared.domain.question_text import as_code

_ESCAPED = re.compile(r"//[A-Za-z]")
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
            ChatCommand(
                "new",
                "Start a session: of the model here, or of your agent in a project of your machine",
                Argument("project", "The project and your first words; or model; without it, a list"),
            ),
            ChatCommand(
                "sessions",
                "List your sessions, also those that are only on your machines",
                Argument("word", "A word of their titles; without it, the newest"),
            ),
            ChatCommand(
                "bring",
                "Bring a session of that list into a new thread",
                Argument("number", "Its number in the list that /sessions showed last"),
            ),
            ChatCommand(
                "diff",
                "Show what changed in the files since the session came here",
                Argument("file", "One file of that list; without it, all of them"),
            ),
            ChatCommand("title", "Give the session here another title", Argument("title", "The new title")),
            ChatCommand("retry", "Say your last words to the agent again"),
            ChatCommand("close", "Return the session to your terminal and close this thread"),
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


_OWN_SHOWN = 40
MODEL = "model"
"""The word after `/new` for a session of the deployment's model."""
_ORDERS = frozenset({*DIALS, "sessions", "bring", "diff"})
_MOVES = frozenset({"new", "resume", "handoff", "share", "close"})


def is_order(command: tuple[str, str] | None) -> bool:
    """Whether a machine is asked for it: it waits for the answer in a line of its own."""
    return command is not None and (command[0] in _ORDERS or _begins_on_machine(command))


def moves(command: tuple[str, str] | None) -> bool:
    """Whether it may change which session lives at its place, or whose messages that accepts: messages wait behind it."""
    return command is not None and command[0] in _MOVES and not _begins_on_machine(command)


def _begins_on_machine(command: tuple[str, str]) -> bool:
    """`/new` with a project begins a session in another thread."""
    name, argument = command
    return name == "new" and argument.lower() not in ("", MODEL)


def first_words(argument: str, *, skip: int) -> str:
    """What follows the first `skip` words of an argument, as it was written."""
    return "".join(argument.split(maxsplit=skip)[skip:])


def unescaped(text: str) -> str:
    """`//name` is for the agent, which has commands of its own: it gets `/name`."""
    return text[1:] if _ESCAPED.match(text) else text


def escaped(text: str) -> str:
    """Words for the agent, so that none of them is a command here."""
    return f"/{text}" if _ESCAPED.match(f"/{text}") else text


def help_text(own: Mapping[str, str] = MappingProxyType({})) -> str:
    """The answer to `/help`, in Markdown; `own` are the commands of the agent, with what they do."""
    lines = [f"- `{_usage(command)}` {command.description}" for command in COMMANDS.values() if command.listed]
    agents = [
        f"- {as_code(_for_agent(name))} {as_code(said)}".rstrip() for name, said in list(own.items())[:_OWN_SHOWN]
    ]
    return "\n".join(["**Commands here**", *lines, *(["", "**Commands of your agent**", *agents] if agents else [])])


def _for_agent(name: str) -> str:
    """How a command of the agent is typed: ours win, so that one with the name of one of ours gets a second slash."""
    return f"//{name}" if name.lower() in COMMANDS else f"/{name}"


def _usage(command: ChatCommand) -> str:
    return f"/{command.name} [{command.argument.name}]" if command.argument else f"/{command.name}"
