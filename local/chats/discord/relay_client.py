"""discord.py's Gateway client, reduced to receiving raw events."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import discord
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL

Event = Mapping[str, Any]


class GatewayClient(discord.Client):
    """Calls `on_event` with each event of the wanted kinds, unchanged and in order. Keeps no caches."""

    def __init__(self, on_event: Callable[["GatewayClient", Event], None], wanted: frozenset[str]) -> None:
        discord.VoiceClient.warn_dave = discord.VoiceClient.warn_nacl = False  # no voice is wanted
        super().__init__(
            intents=discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True),
            enable_debug_events=True,  # the only way to receive raw events
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
        )
        self._on_event = on_event
        self._wanted = wanted

    async def on_socket_raw_receive(self, frame: str) -> None:
        """Called by discord.py in the order of arrival; must not await anything, to keep that order."""
        event = json.loads(frame)
        if event.get("op") == 0 and event.get("t") in self._wanted:
            self._on_event(self, event)

    async def messages_since(self, channel_id: str, since: int) -> list[Any]:
        """The messages of a channel after that id, oldest first, at most a hundred."""
        found: list[Any] = list(await self.http.logs_from(int(channel_id), 100, after=since))
        return sorted(found, key=lambda message: int(message["id"]))

    async def answer(self, interaction: Event, answer: Mapping[str, Any]) -> None:
        """Answer a slash command; Discord waits three seconds for it."""
        path = "/interactions/{webhook_id}/{webhook_token}/callback"
        route = Route("POST", path, webhook_id=interaction["id"], webhook_token=interaction["token"])
        await self.http.request(route, json=answer)


def point_at(api_url: str, gateway_url: str) -> None:
    """Set the addresses for all discord.py clients of this process: the library has no setting per client."""
    Route.BASE = api_url.rstrip("/")
    DiscordWebSocket.DEFAULT_GATEWAY = URL(gateway_url)
