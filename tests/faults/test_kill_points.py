"""Work that dies at any point, on each engine: the handoff completes, the message is answered, nothing happens twice.

Each run takes another sample of the points (seeded by pytest-randomly); the soak takes all of them.
"""

import base64
import hashlib
import random
import time
import uuid

import pytest

from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.kill_cases import (
    LEASE_SECONDS,
    FileCase,
    KillCase,
    find_file_points,
    find_points,
    read_again_soon,
    run_cases,
)
from tests.support.kill_points import AGENT, WEBHOOK, KillPoints, Plan
from tests.support.platform_cases import PLATFORMS, THREADED
from tests.support.service import Service
from tests.support.sweeping import sweeping
from tests.support.waiting import eventually

SAMPLE = 9
SLACK_SECONDS = 10.0  # for a handoff and an answer on a loaded machine; the sweep would look at the turn after 30 s
WEBHOOK_POINTS = 4  # find the user, write the inbox row, send the wake-up, return


def test_a_killed_function_does_not_break_a_handoff(service: Service, user: ApiUser, kill_points: KillPoints) -> None:
    points = random.sample(find_points(user, kill_points, PLATFORMS, talk=False), SAMPLE)
    with sweeping(service):
        run_cases([KillCase(user, point) for point in points], kill_points, talk=False)


def test_a_message_whose_turn_is_killed_is_answered_once(
    service: Service, user: ApiUser, kill_points: KillPoints
) -> None:
    points = random.sample(find_points(user, kill_points, PLATFORMS, talk=True), SAMPLE)
    with sweeping(service):
        run_cases([KillCase(user, point) for point in points], kill_points, talk=True)


def test_a_message_with_a_file_is_answered_once_whatever_is_killed(
    service: Service, user: ApiUser, kill_points: KillPoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_again_soon(monkeypatch)
    (platform,) = random.sample(PLATFORMS, 1)
    found = find_file_points(user, kill_points, platform)
    count = SAMPLE if platform in THREADED else SAMPLE // 2  # without threads they run one after the other
    cases = [FileCase(user, point) for point in random.sample(found, count)]
    with sweeping(service):
        run_cases(cases, kill_points, talk=True)
    assert sum(case.was_killed for case in cases) >= count // 2


@pytest.mark.parametrize("talk", [True, False], ids=["words", "kickoff"])
def test_an_agent_that_dies_before_its_first_call_costs_the_lease(
    user: ApiUser, kill_points: KillPoints, *, talk: bool
) -> None:
    """No sweep runs, and the run of the dead agent is hidden for an hour."""
    found = find_points(user, kill_points, PLATFORMS, talk=talk)
    for point in [point for point in found if (point.plan.function, point.plan.at) == (AGENT, 0)]:
        case = KillCase(user, point)
        began = time.monotonic()
        case.talk(kill_points) if talk else case.hand_off(kill_points)
        assert time.monotonic() - began < LEASE_SECONDS + SLACK_SECONDS, point
        case.check_talk() if talk else case.check_handoff()


def test_an_agent_that_dies_before_it_wakes_the_place_costs_the_lease(user: ApiUser, kill_points: KillPoints) -> None:
    """The reply is committed, but nothing says so to the place."""
    (point,) = [
        point
        for point in find_points(user, kill_points, PLATFORMS[:1], talk=True)
        if (point.plan.function, point.name) == (AGENT, kill_points.sends)
    ]
    case = KillCase(user, point)
    began = time.monotonic()
    case.talk(kill_points)
    assert time.monotonic() - began < LEASE_SECONDS + SLACK_SECONDS
    case.check_talk()


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_message_with_a_file_whose_webhook_is_killed_is_answered_once(
    user: ApiUser, kill_points: KillPoints, platform: str
) -> None:
    """The platform (or the relay) got no answer and delivers the event again."""
    thread = ChatThread(user, platform)
    digests = []
    for at in range(WEBHOOK_POINTS):
        kill_points.plan(text := uuid.uuid4().hex, Plan(WEBHOOK, at))
        content = text.encode() * 1_000
        digests.append(hashlib.sha256(content).hexdigest())
        file = {"name": "run.log", "type": "text/plain", "data": base64.b64encode(content).decode()}
        thread.say(text, files=[file])
        eventually(lambda text=text: thread.replies(text), within=60)  # type: ignore[misc]  # bound in this round

        assert text in kill_points.killed
    said = [message for message in user.transcript(thread.session_id) if message["role"] == "user"]
    assert [file["sha256"] for message in said for file in message.get("files", ())] == digests
    assert len({message["content"] for message in said}) == len(said) == 2 + 1 + WEBHOOK_POINTS
