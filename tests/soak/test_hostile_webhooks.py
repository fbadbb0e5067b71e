"""Thousands of hostile webhooks to a whole service: answered with 200, and what was accepted is worked off."""

import random
import time
from collections.abc import Iterator

import httpx
import pytest

from local.chats import CHATS
from local.service import LocalService
from tests.contracts.platform.toy import CHAT as TOY
from tests.contracts.platform.toy.samples import SAMPLES as TOY_SAMPLES
from tests.support.api_user import ApiUser
from tests.support.hostile_webhooks import Samples, hostile
from tests.support.platform_cases import CASES
from tests.support.waiting import eventually
from tests.support.webhook_endpoint import errors_logged

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]
COUNT = 3000
FIRST = 1_790_000_000
QUEUES = ("TurnsQueueUrl", "DeadTurnsQueueUrl", "FailedRecordsQueueUrl")
HOMES = {chat.name: chat.homes["owner"] for chat in (*CHATS, TOY)}
WAYS = {**{name: case.samples for name, case in CASES.items()}, TOY.name: TOY_SAMPLES}


@pytest.fixture
def service() -> Iterator[LocalService]:
    with LocalService(mode="in_process", chats=[*CHATS, TOY], parameters={"MaxTurnsPerHour": "0"}) as running:
        yield running


def post(service: LocalService, http: httpx.Client, samples: Samples, raw: bytes) -> int:
    raw = samples.seal(service.simulator.secrets, raw)
    signed = samples.sign(service.simulator.secrets, raw, int(time.time()))
    headers = {"Content-Type": "application/json", **samples.headers, **signed}
    path = f"/webhooks/{samples.platform}{samples.rest}"
    return http.request(samples.method, path, content=raw, headers=headers).status_code


def waiting(service: LocalService) -> list[int]:
    """How many messages each queue holds."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    sqs, urls = service.engine.client("sqs"), [service.stack.outputs[name] for name in QUEUES]
    found = [sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"] for url in urls]
    return [sum(map(int, counts.values())) for counts in found]


def hand_over_and_talk(service: LocalService, platform: str) -> None:
    user = ApiUser(service)
    session_id = user.create_session(title=(title := "after the hostile ones"))
    assert user.hand_off(session_id, platform, target=HOMES[platform])["state"] == "completed"
    (thread,) = user.threads(title, platform)
    service.simulator.say(platform, HOMES[platform], "And now?", thread=thread["id"])
    eventually(
        lambda: len(user.transcript(session_id)) > 6 and user.transcript(session_id)[-2]["content"] == "And now?"
    )


@pytest.mark.parametrize("platform", WAYS)
def test_hostile_webhooks_leave_the_service_working(service: LocalService, platform: str) -> None:
    seed = random.randrange(2**32)  # noqa: S311  # not for security
    chance = random.Random(seed)  # noqa: S311  # a seed reproduces a failure
    with httpx.Client(base_url=service.url, timeout=60) as http, errors_logged() as errors:
        for number in range(FIRST, FIRST + COUNT):
            samples = chance.choice(WAYS[platform])
            raw = hostile(chance, samples, number)
            status = post(service, http, samples, raw)
            is_forged = status == 401 and platform == TOY.name  # a change met the secret in its body
            assert (is_forged or status == 200, errors) == (True, []), f"seed {seed}, number {number}: {raw[:2000]!r}"
        eventually(lambda: waiting(service) == [0, 0, 0], within=600, show=lambda: waiting(service))

        hand_over_and_talk(service, platform)
    assert errors == [], f"seed {seed}"
