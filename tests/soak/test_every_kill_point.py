"""Every kill point on every platform; tests/faults/test_kill_points.py takes a sample of them."""

from collections.abc import Iterator

import pytest

from local.service import LocalService
from tests.support.api_user import ApiUser
from tests.support.kill_cases import SHORT_LEASES, KillCase, find_points, run_cases
from tests.support.kill_points import KillPoints
from tests.support.platform_cases import PLATFORMS
from tests.support.sweeping import sweeping

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def kill_points() -> KillPoints:
    return KillPoints()


@pytest.fixture(scope="module")
def service(kill_points: KillPoints) -> Iterator[LocalService]:
    with LocalService(mode="in_process", parameters=SHORT_LEASES, interceptors=kill_points.interceptors) as running:
        yield running


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_handoff_completes_once_at_every_kill_point(
    service: LocalService, kill_points: KillPoints, platform: str
) -> None:
    user = ApiUser(service)
    found = find_points(user, kill_points, [platform], talk=False)
    assert len(found) > 20
    with sweeping(service):
        run_cases([KillCase(user, point) for point in found], kill_points, talk=False)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_message_is_answered_once_at_every_kill_point(
    service: LocalService, kill_points: KillPoints, platform: str
) -> None:
    """A turn that is killed before its first call waits for the queue's visibility time-out: here seconds."""
    url = service.stack.outputs["TurnsQueueUrl"]
    service.engine.client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "3"})
    user = ApiUser(service)
    found = find_points(user, kill_points, [platform], talk=True)
    assert len(found) > 10
    with sweeping(service):
        run_cases([KillCase(user, point) for point in found], kill_points, talk=True)
