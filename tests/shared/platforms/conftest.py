"""Adapters of chat platforms against the simulator."""

from collections.abc import Iterator

import pytest

from local.chats.simulator import Simulator
from shared.platforms.discord.adapter import Discord
from shared.settings import Settings
from tests.support.secrets import FakeSecrets


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator() as running:
        yield running


@pytest.fixture
def discord(simulator: Simulator) -> Iterator[Discord]:
    """The adapter in the simulated Discord."""
    settings = Settings(
        "handoffs", "sessions", "turns", platform_urls={"discord": {"api": simulator.api_url("discord")}}
    )
    adapter = Discord(settings, FakeSecrets({"discord/bot_token": simulator.secrets["discord/bot_token"]}))
    yield adapter
    adapter.close()
