"""The Discord adapter against the simulator: one thread and one message despite any fault."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from local.chats.simulator import Simulator
from shared.domain.routes import Place
from shared.errors import Ambiguous, PlaceGone, RateLimited, Rejected, ThreadRefused
from shared.platforms.discord.adapter import Discord
from shared.ports.platforms import Part
from shared.settings import Settings
from tests.support.secrets import FakeSecrets

TEXT, FORUM, DIRECT = "6001000000000000001", "6002000000000000002", "6003000000000000003"
OWNER = "7001000000000000001"


def chat(simulator: Simulator, home: str) -> dict[str, Any]:
    found: dict[str, Any] = next(c for c in simulator.state()["platforms"]["discord"]["chats"] if c["id"] == home)
    return found


def open_thread(discord: Discord, home: str) -> Place:
    return discord.open_thread(Place("discord", home), "Fix the build", key="h1", people=[OWNER])


def opened_in_the_end(discord: Discord, home: str) -> Place:
    """What a handoff does after an attempt that broke: look for what it left, and open a thread if it left none."""
    found = discord.find_thread(Place("discord", home), key="h1")
    return found or open_thread(discord, home)


@pytest.mark.parametrize("home", [TEXT, FORUM])
@pytest.mark.parametrize("on", ["open_thread", "send"])
@pytest.mark.parametrize("kind", ["reset", "accept_then_reset", "server_error", "rate_limit"])
def test_one_thread_is_opened_despite_any_fault(
    simulator: Simulator, discord: Discord, home: str, on: str, kind: str
) -> None:
    simulator.arm("discord", kind, 1, on=on, seconds=60)
    broke = not (home == FORUM and on == "send")  # a forum's first message comes with its thread
    if broke:
        with pytest.raises(RateLimited if kind == "rate_limit" else Ambiguous):
            open_thread(discord, home)
    thread = opened_in_the_end(discord, home)
    (opened,) = chat(simulator, home)["threads"]
    assert opened["id"] == thread.chat
    assert "owner" in opened["members"]
    assert len(chat(simulator, home)["messages"]) == (1 if home == TEXT else 0)
    assert opened_in_the_end(discord, home) == thread


def test_a_bot_that_may_not_write_still_opens_a_thread(simulator: Simulator, discord: Discord) -> None:
    simulator.arm("discord", "forbidden", 1, on="send")
    thread = open_thread(discord, TEXT)
    (opened,) = chat(simulator, TEXT)["threads"]
    assert opened["id"] == thread.chat
    assert chat(simulator, TEXT)["messages"] == []
    assert "owner" in opened["members"]


@pytest.mark.parametrize("home", [TEXT, FORUM])
def test_a_bot_that_may_not_open_threads_is_refused(simulator: Simulator, discord: Discord, home: str) -> None:
    simulator.arm("discord", "forbidden", 1, on="open_thread")
    with pytest.raises(ThreadRefused):
        open_thread(discord, home)


def test_direct_messages_accept_messages_but_no_threads(simulator: Simulator, discord: Discord) -> None:
    with pytest.raises(ThreadRefused):
        open_thread(discord, DIRECT)
    discord.send(Place("discord", DIRECT), Part("here then"), key="t1#0")
    assert [message["text"] for message in chat(simulator, DIRECT)["messages"]] == ["here then"]


@pytest.mark.parametrize("kind", ["reset", "accept_then_reset", "server_error"])
def test_a_repeated_send_posts_one_message(simulator: Simulator, discord: Discord, kind: str) -> None:
    thread = open_thread(discord, TEXT)
    simulator.arm("discord", kind, 1, on="send")
    with pytest.raises(Ambiguous):
        discord.send(thread, Part("once"), key="t1#0")
    sent = discord.send(thread, Part("once"), key="t1#0")
    (made,) = chat(simulator, TEXT)["threads"]
    assert [(message["id"], message["text"]) for message in made["messages"]] == [(sent, "once")]


def test_a_long_rate_limit_raises_and_a_short_one_waits(simulator: Simulator, discord: Discord) -> None:
    place = Place("discord", TEXT)
    simulator.arm("discord", "rate_limit", 1, on="send", seconds=120)
    started = time.monotonic()
    with pytest.raises(RateLimited) as limited:
        discord.send(place, Part("later"), key="t1#0")
    assert limited.value.after >= 119
    assert time.monotonic() - started < 5
    simulator.arm("discord", "rate_limit", 1, on="send", seconds=0.2)
    discord.send(place, Part("later"), key="t1#0")
    assert [message["text"] for message in chat(simulator, TEXT)["messages"]] == ["later"]


@pytest.mark.parametrize("gone", ["thread", "channel"])
def test_a_deleted_place_is_gone(simulator: Simulator, discord: Discord, gone: str) -> None:
    thread = open_thread(discord, TEXT)
    sent = discord.send(thread, Part("hello"), key="t1#0")
    simulator.remove("discord", TEXT, thread.chat if gone == "thread" else None)
    for call in (
        lambda: discord.send(thread, Part("hello?"), key="t1#1"),
        lambda: discord.edit(thread, sent, Part("hello?")),
    ):
        with pytest.raises(PlaceGone):
            call()
    discord.typing(thread)


def test_a_deleted_message_cannot_be_edited(discord: Discord) -> None:
    with pytest.raises(Rejected):
        discord.edit(Place("discord", TEXT), "1", Part("hello?"))


def test_without_a_token_nothing_is_sent(simulator: Simulator) -> None:
    settings = Settings(
        "handoffs", "sessions", "turns", platform_urls={"discord": {"api": simulator.api_url("discord")}}
    )
    with pytest.raises(Rejected):
        Discord(settings, FakeSecrets()).send(Place("discord", TEXT), Part("hello"), key="t1#0")


def test_calls_from_many_threads_share_one_login(simulator: Simulator, discord: Discord) -> None:

    place = Place("discord", TEXT)

    def send(number: int) -> str:
        return discord.send(place, Part(f"part {number}"), key=f"t{number}#0")

    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(send, range(20)))
    assert len(set(sent)) == 20
    assert len(chat(simulator, TEXT)["messages"]) == 20


@pytest.mark.parametrize("home", [TEXT, FORUM])
def test_a_thread_is_archived_and_no_other_channel(simulator: Simulator, discord: Discord, home: str) -> None:
    thread = open_thread(discord, home)
    for place in (thread, thread, Place("discord", home)):
        discord.close_thread(place)
    patched = [call.name for call in simulator.calls if call.name.startswith("PATCH")]
    assert patched == [f"PATCH /discord/api/v10/channels/{thread.chat}"] * 2
