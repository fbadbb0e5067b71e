"""A whole local service that can be broken at a chosen point, with leases of seconds instead of minutes."""

from collections.abc import Iterator

import pytest

from local.service import LocalService
from tests.faults.kill_points import KillPoints
from tests.support.desk import Desk

SHORT = {"LeaseSeconds": "2", "TurnLeaseSeconds": "2"}


@pytest.fixture(scope="session")
def kill_points() -> KillPoints:
    return KillPoints()


@pytest.fixture(scope="session")
def fragile(kill_points: KillPoints) -> Iterator[LocalService]:
    """Functions in threads of this process that die where a plan says so.

    It begins with one handoff to each platform: loading an SDK may take longer than these leases.
    """
    with LocalService(mode="in_process", parameters=SHORT, interceptors=kill_points.between) as running:
        desk = Desk(running)
        for chat in running.chats:
            desk.hand_over(desk.session(), chat.name)
        yield running


@pytest.fixture
def desk(fragile: LocalService) -> Desk:
    return Desk(fragile)
