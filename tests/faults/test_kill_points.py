"""A function that dies at any point: the handoff completes, the message is answered, nothing happens twice.

Each run takes another sample of the points (seeded by pytest-randomly); the soak takes all of them.
"""

import random
import uuid

import pytest

from local.service import LocalService
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.kill_cases import KillCase, find_points, run_cases
from tests.support.kill_points import KillPoints, Plan
from tests.support.platform_cases import PLATFORMS
from tests.support.sweeping import sweeping
from tests.support.waiting import eventually

SAMPLE = 9
WEBHOOK_POINTS = 4  # find the user, write the inbox row, send the wake-up, return


def test_a_killed_function_does_not_break_a_handoff(
    service: LocalService, user: ApiUser, kill_points: KillPoints
) -> None:
    points = random.sample(find_points(user, kill_points, PLATFORMS, talk=False), SAMPLE)
    with sweeping(service):
        run_cases([KillCase(user, point) for point in points], kill_points, talk=False)


def test_a_message_whose_turn_is_killed_is_answered_once(
    service: LocalService, user: ApiUser, kill_points: KillPoints
) -> None:
    """Not before the first call: that call shortens the queue's visibility time-out to the turn's lease."""
    points = [point for point in find_points(user, kill_points, PLATFORMS, talk=True) if point.plan.at > 0]
    with sweeping(service):
        run_cases([KillCase(user, point) for point in random.sample(points, SAMPLE)], kill_points, talk=True)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_message_whose_webhook_is_killed_is_answered_once(
    user: ApiUser, kill_points: KillPoints, platform: str
) -> None:
    """The platform (or the relay) got no answer and delivers the event again."""
    thread = ChatThread(user, platform)
    for at in range(WEBHOOK_POINTS):
        kill_points.plan(text := uuid.uuid4().hex, Plan("WebhookFunction", at))
        thread.say(text)
        eventually(lambda text=text: thread.is_answered(text), within=60)  # type: ignore[misc]  # bound in this round

        assert text in kill_points.killed
    asked = [message["content"] for message in user.transcript(thread.session_id) if message["role"] == "user"]
    assert len(set(asked)) == len(asked) == 2 + 1 + WEBHOOK_POINTS
