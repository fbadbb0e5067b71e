"""A running simulator, and a receiver of its webhooks."""

from collections.abc import Iterator

import pytest

from local.chats.simulator import Simulator
from tests.support.webhook_receiver import WebhookReceiver


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(retry_scale=0.001) as running:
        yield running


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as running:
        yield running
