"""A running simulator."""

from collections.abc import Iterator

import pytest

from local.chats.simulator import Simulator


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator() as running:
        yield running
