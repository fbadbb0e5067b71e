"""A running simulator, a receiver of webhooks, and the relay between them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from local.chats.relays.base import Relay
from local.chats.simulator import Simulator
from tests.local.chats.relays.under_test import Relaying, relay_for, running
from tests.support.webhook_receiver import WebhookReceiver


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(retry_scale=0.001) as running:
        yield running


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as running:
        yield running


@pytest.fixture
def relaying(platform: str, simulator: Simulator, receiver: WebhookReceiver) -> Relaying:
    """Runs the relay of `platform`, a fixture of the test module, from the simulator to the receiver."""

    def start(*, url: str = "", **more: Any) -> AbstractContextManager[Relay]:
        return running(relay_for(platform, simulator, url or receiver.url, **more))

    return start
