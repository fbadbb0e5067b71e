"""The bot's slash commands as Discord takes them, from the table of chat commands."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.domain.commands import COMMANDS, ChatCommand

_CHAT_INPUT, TEXT_OPTION = 1, 3
_SERVERS, _DIRECT_MESSAGES = 0, 1


def _command(name: str, description: str, *options: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "name": name,
        "description": description,
        "type": _CHAT_INPUT,
        "contexts": [_SERVERS, _DIRECT_MESSAGES],
        "options": list(options),
    }


def _option(name: str, description: str, *, required: bool) -> Mapping[str, Any]:
    return {"name": name, "description": description, "type": TEXT_OPTION, "required": required}


def _from_table(command: ChatCommand) -> Mapping[str, Any]:
    argument = command.argument
    options = [_option(argument.name, argument.description, required=False)] if argument else []
    return _command(command.name, command.description, *options)


# /say: a way to talk to the agent in a channel where the bot cannot read messages.
SLASH_COMMANDS: Sequence[Mapping[str, Any]] = (
    _command("say", "Say something to the agent here", _option("text", "What to say", required=True)),
    *(_from_table(command) for command in COMMANDS.values() if command.listed),
)
