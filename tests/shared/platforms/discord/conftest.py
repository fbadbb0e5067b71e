"""The Discord adapter, connected to the simulator, and a receiver of its webhooks."""

from collections.abc import Iterator

import pytest

from local.chats.simulator import Simulator
from shared.platforms.discord.adapter import Discord
from shared.settings import Settings
from tests.support.secrets import FakeSecrets
from tests.support.webhook_receiver import WebhookReceiver


@pytest.fixture
def discord(simulator: Simulator) -> Iterator[Discord]:
    urls = {"discord": {"api": simulator.api_url("discord")}}
    settings = Settings("handoffs", "sessions", "turns", platform_urls=urls)
    adapter = Discord(settings, FakeSecrets({"discord/bot_token": simulator.secrets["discord/bot_token"]}))
    yield adapter
    adapter.close()


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as running:
        yield running
