"""Every kill point on every platform: the whole of what tests/faults/test_kill_points.py takes samples of."""

from collections.abc import Iterator

import pytest

from local.service import LocalService
from tests.faults.conftest import SHORT
from tests.faults.kill_points import KillPoints
from tests.faults.moved_once import CHATS, Case, all_of, learned
from tests.support.desk import Desk
from tests.support.sweeping import sweeping

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def every_point() -> KillPoints:
    return KillPoints()


@pytest.fixture(scope="module")
def service(every_point: KillPoints) -> Iterator[LocalService]:
    with LocalService(mode="in_process", parameters=SHORT, interceptors=every_point.between) as running:
        yield running


@pytest.mark.parametrize("platform", CHATS)
def test_a_handoff_completes_once_at_every_kill_point(
    service: LocalService, every_point: KillPoints, platform: str
) -> None:
    desk = Desk(service)
    found = learned(desk, every_point, [platform], talk=False)
    assert len(found) > 20
    with sweeping(service):
        all_of([Case(desk, point) for point in found], every_point, talk=False)


@pytest.mark.parametrize("platform", CHATS)
def test_a_message_is_answered_once_at_every_kill_point(
    service: LocalService, every_point: KillPoints, platform: str
) -> None:
    """A turn that dies before its first call comes back when the queue's own hold is over: here after seconds."""
    url = service.stack.outputs["TurnsQueueUrl"]
    service.engine.client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "3"})
    desk = Desk(service)
    found = learned(desk, every_point, [platform], talk=True)
    assert len(found) > 10
    with sweeping(service):
        all_of([Case(desk, point) for point in found], every_point, talk=True)
