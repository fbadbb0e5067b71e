"""A service whose work can be stopped at any call, on each engine, with leases of seconds instead of minutes."""

from collections.abc import Iterator

import pytest

from local.service import LocalService
from tests.support.api_user import ApiUser
from tests.support.engines import ENGINES, Faulty, started
from tests.support.kill_points import KillPoints
from tests.support.platform_cases import PLATFORMS
from tests.support.server_process import user_of
from tests.support.service import Service


@pytest.fixture(scope="session", params=ENGINES)
def faulty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faulty]:
    """One handoff to each platform comes first: loading an SDK may take longer than the short leases."""
    with started(request.param, lambda: tmp_path_factory.mktemp("machine")) as running:
        user = user_of(running.service)
        for platform in PLATFORMS:
            user.hand_off(user.create_session(), platform)
        yield running


@pytest.fixture(scope="session")
def kill_points(faulty: Faulty) -> KillPoints:
    return faulty.kill_points


@pytest.fixture(scope="session")
def service(faulty: Faulty) -> Service:
    return faulty.service


@pytest.fixture
def user(service: Service) -> ApiUser:
    """On one engine each answer is checked against docs/openapi.json: that takes longer than most requests."""
    user = user_of(service)
    if not isinstance(service, LocalService):
        user.http.event_hooks = {}
    return user
