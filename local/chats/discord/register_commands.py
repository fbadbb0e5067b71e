"""`python -m local.chats.discord.register_commands`: tell Discord which slash commands the bot has. Safe to repeat."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from local.chats.relays.configuration import API_URLS
from shared.domain.commands import COMMANDS as CHAT_COMMANDS
from shared.errors import PlatformError
from shared.platforms.discord.rest import DiscordHttp

_CHAT_INPUT, _TEXT = 1, 3
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
    return {"name": name, "description": description, "type": _TEXT, "required": required}


COMMANDS: Sequence[Mapping[str, Any]] = (
    _command("say", "Say something to the agent here", _option("text", "What to say", required=True)),
    *(
        _command(
            command.name,
            command.description,
            *(
                [_option(command.argument.name, command.argument.description, required=False)]
                if command.argument
                else []
            ),
        )
        for command in CHAT_COMMANDS.values()
        if command.listed
    ),
)


async def register(token: str, *, api_url: str) -> list[str]:
    """Replace all of the bot's slash commands with ours; returns their names. Raises PlatformError."""
    http = DiscordHttp(api_url, token, limit=30, patience=60)
    try:
        application = await http.call("GET", "/applications/@me")
        path = "/applications/{application_id}/commands"
        registered = await http.call("PUT", path, COMMANDS, application_id=str(application["id"]))
        return [command["name"] for command in registered]
    finally:
        await http.close()


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Register with DISCORD_BOT_TOKEN; 0 done, 1 refused, 2 usage."""
    parser = argparse.ArgumentParser(prog="python -m local.chats.discord.register_commands", description=__doc__)
    parser.add_argument("--api-url", default=API_URLS["discord"], help="Discord's API, if not the real one")
    given = parser.parse_args(arguments)
    token = environment.get("DISCORD_BOT_TOKEN", "").strip()
    if not token:
        parser.error("set DISCORD_BOT_TOKEN in the environment first")
    try:
        names = asyncio.run(register(token, api_url=given.api_url))
    except PlatformError as error:
        sys.stderr.write(f"No command was changed. {error}\n")
        return 1
    sys.stdout.write(f"Registered: {', '.join(f'/{name}' for name in names)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
