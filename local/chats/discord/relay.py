"""Discord's Gateway: the only source of ordinary messages for a bot, so deployments run this relay too."""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from typing import Any

import aiohttp
import discord

from local.chats.discord.relay_client import Event, GatewayClient, point_at
from local.chats.relays.base import Relay, Target
from local.chats.relays.redaction import quiet
from local.chats.relays.webhook import Backoff, Outcome
from shared.platforms.discord.errors import ALREADY_ANSWERED
from shared.platforms.discord.signatures import relay_headers

log = logging.getLogger(__name__)

_GATEWAY_URL = "wss://gateway.discord.gg/"
_DISCORD_EPOCH_MS = 1_420_070_400_000
_WANTED = frozenset({"READY", "GUILD_CREATE", "MESSAGE_CREATE", "INTERACTION_CREATE"})
_READABLE = frozenset({0, 2, 5, 10, 11, 12, 13})  # channels that hold messages; a forum's are in its threads
_CATCH_UP_SECONDS, _CATCH_UP_ATTEMPTS = 900.0, 5
_AUTHENTICATION_FAILED = 4004

_KNOWN = "Application has an interaction endpoint URL set"
"""A warning of the library. Where Discord posts interactions to is what `handoff doctor` tells."""

_Received = tuple[GatewayClient, Event]


def _is_news(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(_KNOWN)


class DiscordRelay(Relay):
    """Posts each message, slash command and press to the webhook, in order, signed with the relay's secret.

    After a lost connection Discord replays the missed events; after a restart it does not, so the relay fetches the
    last minutes of every channel. The service ignores duplicates by their id.
    """

    platform = "discord"

    def __init__(self, target: Target, **more: Any) -> None:
        super().__init__(target, **more)
        self._warned = False

    def sign(self, raw: bytes, *, now: int) -> Mapping[str, str]:
        return relay_headers(self.secret("relay_secret"), raw, now=now)

    async def run(self) -> None:
        """See Relay."""
        quiet("discord", "aiohttp", "asyncio", without_traceback="discord.client")
        logging.getLogger("discord.client").addFilter(_is_news)
        events: asyncio.Queue[_Received] = asyncio.Queue()
        async with aiohttp.ClientSession() as session:
            tasks = {asyncio.ensure_future(work) for work in (self._listen(events), self._forward_all(session, events))}
            try:
                # Both run until an error, which then ends both.
                ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    task.result()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self, events: asyncio.Queue[_Received]) -> None:
        """One discord.py client after another: each reconnects by itself and rarely gives up."""

        async def connect(backoff: Backoff) -> None:
            point_at(self.target.api_url, self.target.options.get("gateway_url") or _GATEWAY_URL)
            self.connected.clear()
            try:
                async with GatewayClient(lambda *received: events.put_nowait(received), _WANTED) as client:
                    await client.start(self.secret("bot_token"))
            finally:
                if self.connected.is_set():
                    backoff.reset()

        await self.keep_connected(connect, discord.DiscordException, aiohttp.ClientError, OSError)

    def unusable(self, error: Exception) -> str:
        if isinstance(error, discord.LoginFailure) or getattr(error, "code", None) == _AUTHENTICATION_FAILED:
            return "Discord does not accept DISCORD_BOT_TOKEN. Reset it in the developer portal, on the page Bot."
        if isinstance(error, discord.PrivilegedIntentsRequired):
            return (
                "The bot may not read messages. Enable Message Content Intent in the developer portal, on the page Bot."
            )
        return ""

    async def _forward_all(self, session: aiohttp.ClientSession, events: asyncio.Queue[_Received]) -> None:
        while True:
            client, event = await events.get()
            if event["t"] == "READY":
                self.connected.set()
            elif event["t"] == "GUILD_CREATE":
                await self._catch_up(session, client, event["d"])
            elif event["t"] == "MESSAGE_CREATE":
                await self._forward_message(session, event["d"], direct="guild_id" not in event["d"])
            else:
                await self._forward_interaction(session, client, event["d"])

    async def _forward_message(
        self, session: aiohttp.ClientSession, message: Mapping[str, Any], *, direct: bool = False
    ) -> None:
        """`direct`: in direct messages with the bot. Messages of a server's history do not name their server either."""
        if message["author"].get("bot"):
            return
        self._warn_if_hidden(message)
        await self._forward(session, "MESSAGE_CREATE", message, direct=direct)

    async def _forward_interaction(
        self, session: aiohttp.ClientSession, client: GatewayClient, interaction: Mapping[str, Any]
    ) -> None:
        """Interactions arrive here if no interactions URL is set; the webhook's answer is sent back as theirs.

        The service may have answered it already.
        """
        outcome = await self._forward(session, "INTERACTION_CREATE", interaction)
        try:
            answer = json.loads(outcome.body)
            if "type" in answer:
                await client.answer(interaction, answer)
        except (discord.DiscordException, aiohttp.ClientError, OSError, ValueError, TypeError, RuntimeError) as error:
            if getattr(error, "code", None) != ALREADY_ANSWERED:
                log.warning("an interaction was accepted but not answered (%s)", type(error).__name__)

    async def _forward(
        self, session: aiohttp.ClientSession, kind: str, data: Mapping[str, Any], **more: Any
    ) -> Outcome:
        raw = json.dumps({"t": kind, "d": data, **more}).encode()
        return await self.webhook.forward(session, raw, event=data["id"])

    async def _catch_up(self, session: aiohttp.ClientSession, client: GatewayClient, guild: Mapping[str, Any]) -> None:
        """Forward the last minutes of a server, in case no relay was running then."""
        since = int((time.time() - _CATCH_UP_SECONDS) * 1000 - _DISCORD_EPOCH_MS) << 22
        for channel in [*guild.get("channels", ()), *guild.get("threads", ())]:
            if channel["type"] not in _READABLE or int(channel.get("last_message_id") or 0) <= since:
                continue
            for message in await self._history(client, channel["id"], since):
                await self._forward_message(session, message)

    async def _history(self, client: GatewayClient, channel_id: str, since: int) -> list[Any]:
        backoff = self.pauses()
        for _ in range(_CATCH_UP_ATTEMPTS):
            try:
                return await client.messages_since(channel_id, since)
            except (discord.Forbidden, discord.NotFound):
                return []  # the bot may not read it
            except (discord.HTTPException, aiohttp.ClientError, OSError, RuntimeError) as error:
                if client.is_closed():
                    return []  # the next client will ask again
                log.warning("the history of a Discord channel could not be read (%s)", type(error).__name__)
                await backoff.pause()
        return []

    def _warn_if_hidden(self, message: Mapping[str, Any]) -> None:
        shown = ("content", "attachments", "embeds", "sticker_items", "components", "poll")
        if not self._warned and message.get("guild_id") and not any(message.get(name) for name in shown):
            self._warned = True
            log.warning("Discord sends messages without their text: enable the bot's Message Content Intent")
