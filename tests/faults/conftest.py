"""A local service whose functions can be stopped at any call, with leases of seconds instead of minutes."""

from collections.abc import Iterator

import pytest

from local.service import LocalService
from tests.support.api_user import ApiUser
from tests.support.kill_cases import SHORT_LEASES
from tests.support.kill_points import KillPoints
from tests.support.platform_cases import PLATFORMS


@pytest.fixture(scope="session")
def kill_points() -> KillPoints:
    return KillPoints()


@pytest.fixture(scope="session")
def service(kill_points: KillPoints) -> Iterator[LocalService]:
    """One handoff to each platform comes first: loading an SDK may take longer than the short leases."""
    with LocalService(mode="in_process", parameters=SHORT_LEASES, interceptors=kill_points.interceptors) as running:
        user = ApiUser(running)
        for platform in PLATFORMS:
            user.hand_off(user.create_session(), platform)
        yield running


@pytest.fixture
def user(service: LocalService) -> ApiUser:
    return ApiUser(service)
