"""The simulated Gateway with discord.py as its client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import discord
import pytest
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from local.chats.simulator import Simulator

HOME, FORUM, DIRECT = "6001000000000000001", "6002000000000000002", "6003000000000000003"
PATIENCE = 20.0


@pytest.fixture(autouse=True)
def point_the_sdk_here(simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Route, "BASE", simulator.api_url("discord"))  # the SDK has no other way to name its server
    monkeypatch.setattr(
        DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(simulator.relay_options("discord")["gateway_url"])
    )


class Listener(discord.Client):
    """Records the events of the Gateway."""

    def __init__(self) -> None:
        intents = discord.Intents(guilds=True, messages=True, message_content=True)
        super().__init__(intents=intents, guild_ready_timeout=0.1)
        self.received: asyncio.Queue[discord.Message] = asyncio.Queue()

    async def on_message(self, message: discord.Message) -> None:
        self.received.put_nowait(message)

    async def next(self) -> discord.Message:
        return await asyncio.wait_for(self.received.get(), PATIENCE)


@asynccontextmanager
async def listening(simulator: Simulator) -> AsyncIterator[Listener]:
    async with Listener() as listener:
        running = asyncio.create_task(listener.start(simulator.secrets["discord/bot_token"]))
        await asyncio.wait_for(listener.wait_until_ready(), PATIENCE)
        yield listener
        await listener.close()
        await running


async def say(simulator: Simulator, chat: str, text: str, *, thread: str | None = None) -> int:
    return int(await asyncio.to_thread(simulator.say, "discord", chat, text, thread=thread))


def test_the_guild_and_its_channels_are_known_when_ready(simulator: Simulator) -> None:
    async def run() -> None:
        async with listening(simulator) as listener:
            (guild,) = listener.guilds
            assert {str(channel.id) for channel in guild.channels} == {HOME, FORUM}
            assert guild.me.guild_permissions.create_public_threads

    asyncio.run(run())


def test_messages_of_all_kinds_of_channels_arrive(simulator: Simulator) -> None:
    async def run() -> None:
        async with listening(simulator) as listener:
            channel = listener.get_channel(int(HOME))
            assert isinstance(channel, discord.TextChannel)
            thread = await channel.create_thread(name="Here", type=discord.ChannelType.public_thread)
            for chat, inside, where in ((HOME, None, HOME), (HOME, str(thread.id), thread.id), (DIRECT, None, DIRECT)):
                sent = await say(simulator, chat, "hello", thread=inside)
                message = await listener.next()
                assert (message.id, message.content) == (sent, "hello")
                assert message.channel.id == int(where)
                assert message.author.id == 7001000000000000001
                assert (message.guild is None) == (chat == DIRECT)

    asyncio.run(run())


def test_the_bots_own_messages_arrive_too(simulator: Simulator) -> None:
    async def run() -> None:
        async with listening(simulator) as listener:
            channel = listener.get_channel(int(HOME))
            assert isinstance(channel, discord.TextChannel)
            await channel.send("me")
            assert (await listener.next()).author == listener.user

    asyncio.run(run())


def test_a_wrong_token_closes_with_its_code(simulator: Simulator) -> None:
    async def run() -> int | None:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(simulator.relay_options("discord")["gateway_url"]) as socket,
        ):
            assert (await socket.receive_json())["op"] == 10
            await socket.send_json({"op": 2, "d": {"token": "wrong", "intents": 0, "properties": {}}})
            assert (await socket.receive()).type == aiohttp.WSMsgType.CLOSE
            return socket.close_code

    assert asyncio.run(run()) == 4004


def test_an_unknown_session_cannot_be_resumed(simulator: Simulator) -> None:
    async def run() -> dict[str, object]:
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(simulator.relay_options("discord")["gateway_url"]) as socket,
        ):
            await socket.receive_json()
            token = simulator.secrets["discord/bot_token"]
            await socket.send_json({"op": 6, "d": {"token": token, "session_id": "none", "seq": 1}})
            answer: dict[str, object] = await socket.receive_json()
            return answer

    assert asyncio.run(run()) == {"op": 9, "d": False, "s": None, "t": None}
