"""A local run with real bots: a simulator stands where the platform would be, and tells nobody's webhook anything."""

import uuid
from collections.abc import Iterator

import pytest

from local.chats.real import RealBots
from local.chats.simulator.simulator import Simulator
from local.service import LocalService
from tests.support.desk import Desk, until

OWNER = {"telegram": "7001", "slack": "U7001", "discord": "7001000000000000001"}
HOME = {"telegram": "7001", "slack": "C0HOME", "discord": "6001000000000000001"}


@pytest.fixture(scope="module")
def platform_side() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@pytest.fixture(scope="module")
def run(platform_side: Simulator) -> Iterator[LocalService]:
    secrets = platform_side.secrets
    environment = {
        "TELEGRAM_BOT_TOKEN": secrets["telegram/bot_token"],
        "TELEGRAM_API_URL": platform_side.api_url("telegram"),
        "TELEGRAM_USER_ID": OWNER["telegram"],
        "SLACK_BOT_TOKEN": secrets["slack/bot_token"],
        "SLACK_APP_TOKEN": secrets["slack/app_token"],
        "SLACK_API_URL": platform_side.api_url("slack"),
        "SLACK_USER_ID": OWNER["slack"],
        "SLACK_HOME": HOME["slack"],
        "DISCORD_BOT_TOKEN": secrets["discord/bot_token"],
        "DISCORD_API_URL": platform_side.api_url("discord"),
        "DISCORD_GATEWAY_URL": platform_side.relay_options("discord")["gateway_url"],
        "DISCORD_USER_ID": OWNER["discord"],
        "DISCORD_HOME": HOME["discord"],
    }
    with LocalService(mode="in_process", real=RealBots.from_environment(environment)) as running:
        yield running


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
def test_a_session_moves_to_the_real_platform_and_replies_come_back_without_a_tunnel(
    run: LocalService, platform_side: Simulator, platform: str
) -> None:
    desk = Desk(run)
    title = f"real {uuid.uuid4().hex[:6]}"
    session_id = desk.session(title=title)

    done = desk.hand_over(session_id, platform)

    assert (done["state"], done["error"]) == ("completed", None)
    (thread,) = _threads(platform_side, platform, title)
    platform_side.say(platform, HOME[platform], "from the couch", thread=thread)
    until(lambda: "from the couch" in [message["content"] for message in desk.transcript(session_id)])
    assert run.simulator.state()["platforms"][platform]["chats"][0]["threads"] == []


def test_without_a_users_id_nobody_is_listened_to_and_the_greeting_says_so() -> None:
    real = RealBots.from_environment({"TELEGRAM_BOT_TOKEN": "1:a"})

    assert real.platforms == ["telegram"]
    assert real.described() == ["telegram: ignores all messages until you set TELEGRAM_USER_ID to your id there"]


def _threads(simulator: Simulator, platform: str, title: str) -> list[str]:
    chats = simulator.state()["platforms"][platform]["chats"]
    return [thread["id"] for chat in chats for thread in chat["threads"] if title in thread["title"]]
