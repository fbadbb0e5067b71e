"""The simulated REST API with discord.py as its client."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import discord
import httpx
import pytest
from discord.http import Route

from local.chats.simulator import Simulator
from local.chats.simulator.control import Invalid

HOME, FORUM, DIRECT = 6001000000000000001, 6002000000000000002, 6003000000000000003
OWNER = 7001000000000000001
T = TypeVar("T")
Work = Callable[[discord.Client], Awaitable[T]]


@pytest.fixture(autouse=True)
def point_the_sdk_here(simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Route, "BASE", simulator.api_url("discord"))  # the SDK has no other way to name its server


def with_client(simulator: Simulator, work: Work[T]) -> T:
    async def run() -> T:
        async with discord.Client(intents=discord.Intents.none(), max_ratelimit_timeout=30) as client:
            await client.login(simulator.secrets["discord/bot_token"])
            return await work(client)

    return asyncio.run(run())


def chat_state(simulator: Simulator, chat: int) -> dict[str, Any]:
    return next(c for c in simulator.state()["platforms"]["discord"]["chats"] if c["id"] == str(chat))


async def text_channel(client: discord.Client) -> discord.TextChannel:
    channel = await client.fetch_channel(HOME)
    assert isinstance(channel, discord.TextChannel)
    return channel


def test_login_returns_bot_and_application(simulator: Simulator) -> None:
    async def work(client: discord.Client) -> tuple[int, discord.AppInfo]:
        assert client.user is not None
        return client.user.id, await client.application_info()

    user_id, application = with_client(simulator, work)
    assert user_id == 9001000000000000001
    assert application.verify_key == simulator.secrets["discord/public_key"]


def test_a_thread_in_a_text_channel_holds_its_messages(simulator: Simulator) -> None:
    async def work(client: discord.Client) -> tuple[discord.Thread, discord.Message]:
        channel = await text_channel(client)
        thread = await channel.create_thread(
            name="Handoff — tea", type=discord.ChannelType.public_thread, auto_archive_duration=1440
        )
        async with thread.typing():
            return thread, await thread.send("Here I am", nonce="abc", allowed_mentions=discord.AllowedMentions.none())

    thread, message = with_client(simulator, work)
    (state,) = chat_state(simulator, HOME)["threads"]
    assert (state["id"], state["title"]) == (str(thread.id), "Handoff — tea")
    assert [(m["id"], m["text"]) for m in state["messages"]] == [(str(message.id), "Here I am")]
    assert (message.channel.id, message.nonce) == (thread.id, "abc")


def test_a_message_has_at_most_one_thread_with_its_id(simulator: Simulator) -> None:
    async def work(client: discord.Client) -> tuple[discord.Message, discord.Thread, discord.Message]:
        seed = await (await text_channel(client)).send("seed")
        thread = await seed.create_thread(name="Handoff", auto_archive_duration=60)
        with pytest.raises(discord.HTTPException) as again:
            await seed.create_thread(name="Handoff", auto_archive_duration=60)
        assert (again.value.status, again.value.code) == (400, 160004)
        return seed, thread, await (await text_channel(client)).fetch_message(seed.id)

    seed, thread, fetched = with_client(simulator, work)
    assert thread.id == seed.id
    assert fetched.flags.has_thread


def test_a_forum_post_needs_a_first_message(simulator: Simulator) -> None:
    async def work(client: discord.Client) -> tuple[discord.Thread, discord.Message]:
        forum = await client.fetch_channel(FORUM)
        assert isinstance(forum, discord.ForumChannel)
        with pytest.raises(discord.HTTPException) as refused:
            await client.http.send_message(FORUM, params=discord.http.handle_message_parameters("x"))
        assert refused.value.code == 40058
        with pytest.raises(discord.HTTPException, match="This field is required"):
            await client.http.request(Route("POST", "/channels/{c}/threads", c=FORUM), json={"name": "x"})
        return await forum.create_thread(name="Idea", content="First words")

    thread, message = with_client(simulator, work)
    assert message.id == thread.id
    (state,) = chat_state(simulator, FORUM)["threads"]
    assert [m["text"] for m in state["messages"]] == ["First words"]


def test_history_returns_sent_messages(simulator: Simulator) -> None:
    async def work(client: discord.Client) -> tuple[list[str], list[str]]:
        channel = await text_channel(client)
        sent = [await channel.send(f"m{n}") for n in range(4)]
        newest = [m.content async for m in channel.history(limit=2)]
        after = [m.content async for m in channel.history(after=sent[0], oldest_first=True)]
        return newest, after

    assert with_client(simulator, work) == (["m3", "m2"], ["m1", "m2", "m3"])


def test_people_can_be_added_to_a_thread(simulator: Simulator) -> None:
    async def work(client: discord.Client) -> None:
        thread = await (await text_channel(client)).create_thread(
            name="For you", type=discord.ChannelType.private_thread
        )
        await thread.add_user(discord.Object(OWNER))

    with_client(simulator, work)
    (thread,) = chat_state(simulator, HOME)["threads"]
    assert thread["members"] == ["bot", "owner"]


def test_a_private_thread_is_closed_to_non_members(simulator: Simulator) -> None:
    async def work(client: discord.Client) -> str:
        return str((await (await text_channel(client)).create_thread(name="Mine")).id)

    thread = with_client(simulator, work)
    with pytest.raises(Invalid, match="the bot only"):
        simulator.say("discord", str(HOME), "hello?", thread=thread)


async def _too_long(client: discord.Client) -> None:
    await (await text_channel(client)).send("x" * 2001)


async def _empty(client: discord.Client) -> None:
    await client.http.request(Route("POST", "/channels/{c}/messages", c=HOME), json={"content": ""})


async def _long_name(client: discord.Client) -> None:
    await (await text_channel(client)).create_thread(name="x" * 101, type=discord.ChannelType.public_thread)


async def _odd_duration(client: discord.Client) -> None:
    body = {"name": "x", "auto_archive_duration": 61, "type": 11}
    await client.http.request(Route("POST", "/channels/{c}/threads", c=HOME), json=body)


async def _thread_in_direct(client: discord.Client) -> None:
    await client.http.request(Route("POST", "/channels/{c}/threads", c=DIRECT), json={"name": "x"})


async def _unknown_channel(client: discord.Client) -> None:
    await client.fetch_channel(4711)


async def _unknown_message(client: discord.Client) -> None:
    await (await text_channel(client)).get_partial_message(4711).edit(content="x")


async def _long_nonce(client: discord.Client) -> None:
    await (await text_channel(client)).send("x", nonce="n" * 26)


async def _unknown_path(client: discord.Client) -> None:
    await client.http.request(Route("GET", "/nowhere"))


@pytest.mark.parametrize(
    ("work", "status", "code", "words"),
    [
        (_too_long, 400, 50035, "In content: Must be 2000 or fewer in length."),
        (_empty, 400, 50006, "Cannot send an empty message"),
        (_long_name, 400, 50035, "In name: Must be between 1 and 100 in length."),
        (_odd_duration, 400, 50035, "Value must be one of (60, 1440, 4320, 10080)."),
        (_thread_in_direct, 400, 50024, "Cannot execute action on this channel type"),
        (_unknown_channel, 404, 10003, "Unknown Channel"),
        (_unknown_message, 404, 10008, "Unknown Message"),
        (_long_nonce, 400, 50035, "In nonce: Must be 25 or fewer in length."),
        (_unknown_path, 404, 0, "404: Not Found"),
    ],
)
def test_errors_have_discords_codes(simulator: Simulator, work: Work[None], status: int, code: int, words: str) -> None:
    with pytest.raises(discord.HTTPException) as refused:
        with_client(simulator, work)
    assert (refused.value.status, refused.value.code) == (status, code)
    assert words in refused.value.text


def test_the_longest_message_fits(simulator: Simulator) -> None:
    async def work(client: discord.Client) -> None:
        await (await text_channel(client)).send("x" * 2000)

    with_client(simulator, work)
    assert len(chat_state(simulator, HOME)["messages"][0]["text"]) == 2000


def test_everyone_is_mentioned_only_if_allowed(simulator: Simulator) -> None:
    async def work(client: discord.Client) -> list[bool]:
        channel = await text_channel(client)
        loud = await channel.send("@everyone hello")
        quiet = await channel.send("@everyone hello", allowed_mentions=discord.AllowedMentions.none())
        return [loud.mention_everyone, quiet.mention_everyone]

    assert with_client(simulator, work) == [True, False]


def test_the_sdk_waits_for_a_short_rate_limit_only(simulator: Simulator) -> None:
    async def work(client: discord.Client) -> float:
        channel = await text_channel(client)
        await channel.send("patient")
        await asyncio.to_thread(simulator.arm, "discord", "rate_limit", seconds=31)
        with pytest.raises(discord.RateLimited) as limited:
            await channel.send("never")
        return limited.value.retry_after

    simulator.arm("discord", "rate_limit", seconds=0.05)
    assert with_client(simulator, work) == 31
    assert [m["text"] for m in chat_state(simulator, HOME)["messages"]] == ["patient"]


def test_a_rate_limit_has_discords_headers(simulator: Simulator) -> None:
    simulator.arm("discord", "rate_limit", seconds=1.5)
    headers = {"Authorization": f"Bot {simulator.secrets['discord/bot_token']}"}
    url = f"{simulator.api_url('discord')}/channels/{HOME}/messages"
    answer = httpx.post(url, json={"content": "x"}, headers=headers)
    assert answer.status_code == 429
    assert answer.json() == {"message": "You are being rate limited.", "retry_after": 1.5, "global": False}
    assert (answer.headers["Retry-After"], answer.headers["X-RateLimit-Reset-After"]) == ("2", "1.500")
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Via"]
