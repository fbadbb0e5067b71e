"""A simulated platform on one side, a webhook on the other; the relay under test stands between."""

from collections.abc import Iterator

import pytest

from local.simulator import Simulator
from tests.local.relays.receiver import Receiver


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator(retry_scale=0.01) as running:
        yield running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        yield running
