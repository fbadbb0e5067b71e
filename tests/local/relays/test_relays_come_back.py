"""A platform that goes away and comes back finds its relay again."""

import contextlib
import socket

import pytest

from local.relays.backoff import Backoff
from local.relays.discord import DiscordRelay
from local.relays.relay import Relay
from local.relays.slack import SlackRelay
from local.relays.telegram import TelegramRelay
from local.simulator import Simulator
from local.simulator.credentials import Credentials
from local.simulator.world import Platform
from tests.local.relays.receiver import PATIENCE, Posted, Receiver

CHATS: dict[Platform, str] = {"telegram": "7001", "slack": "C0HOME", "discord": "6001000000000000001"}


def quick() -> Backoff:
    return Backoff(0.01, 0.05)


def relay_for(platform: str, simulator: Simulator, url: str) -> Relay:
    own = simulator.credentials
    if platform == "telegram":
        return TelegramRelay(
            url,
            token=own.telegram_token,
            secret=own.telegram_webhook_secret,
            api_url=simulator.telegram_api_url,
            pauses=quick,
        )
    if platform == "slack":
        return SlackRelay(
            url,
            app_token=own.slack_app_token,
            signing_secret=own.slack_signing_secret,
            api_url=simulator.slack_api_url,
            ping_seconds=0.2,
            pauses=quick,
        )
    return DiscordRelay(
        url,
        token=own.discord_bot_token,
        secret=own.discord_relay_secret,
        api_url=simulator.discord_api_url,
        gateway_url=simulator.discord_gateway_url,
        pauses=quick,
    )


def heard_when_back(simulator: Simulator, platform: Platform, receiver: Receiver) -> list[Posted]:
    """Speak until it is heard: the SDKs take their time to come back, and Slack forgets who used sockets."""
    for _ in range(60):
        simulator.say(platform, CHATS[platform], "back again")
        with contextlib.suppress(AssertionError):
            return receiver.accepted(1, within=1)
    return receiver.accepted(1)


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


@pytest.mark.parametrize("platform", CHATS)
def test_a_relay_outlives_its_platforms_restart(receiver: Receiver, port: int, platform: Platform) -> None:
    credentials = Credentials()
    first = Simulator(credentials=credentials)
    first.start(port)
    relay = relay_for(platform, first, receiver.url)
    relay.start()
    try:
        assert relay.connected.wait(PATIENCE)
        first.stop()
        second = Simulator(credentials=credentials)
        second.start(port)
        try:
            (posted,) = heard_when_back(second, platform, receiver)
            assert b"back again" in posted.raw
        finally:
            second.stop()
    finally:
        relay.stop()
        first.stop()


@pytest.mark.parametrize("platform", CHATS)
def test_a_relay_that_starts_first_waits_for_its_platform(receiver: Receiver, port: int, platform: Platform) -> None:
    simulator = Simulator()
    simulator.start(port)
    relay = relay_for(platform, simulator, receiver.url)
    simulator.stop()
    relay.start()
    later = Simulator(credentials=simulator.credentials)
    try:
        assert not relay.connected.wait(0.3)
        later.start(port)
        assert relay.connected.wait(PATIENCE)
    finally:
        relay.stop()
        later.stop()
