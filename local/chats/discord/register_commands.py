"""`python -m local.chats.discord.register_commands`: register the bot's slash commands with Discord. Idempotent."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence

from shared.errors import PlatformError
from shared.platforms.discord import SPEC
from shared.platforms.discord.rest import DiscordHttp
from shared.platforms.discord.slash_commands import SLASH_COMMANDS


async def register(token: str, *, api_url: str) -> list[str]:
    """Replace all of the bot's slash commands with ours; returns their names. Raises PlatformError."""
    http = DiscordHttp(api_url, token, limit=30, patience=60)
    try:
        application = await http.call("GET", "/applications/@me")
        path = "/applications/{application_id}/commands"
        registered = await http.call("PUT", path, SLASH_COMMANDS, application_id=str(application["id"]))
        return [command["name"] for command in registered]
    finally:
        await http.close()


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Register with DISCORD_BOT_TOKEN; 0 done, 1 refused, 2 usage."""
    parser = argparse.ArgumentParser(prog="python -m local.chats.discord.register_commands", description=__doc__)
    parser.add_argument("--api-url", default=SPEC.api_url, help="Discord's API, if not the real one")
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
