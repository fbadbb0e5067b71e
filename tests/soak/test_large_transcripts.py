"""Ten thousand messages, 20 MB: handed off completely, in a time proportional to their number."""

import random
import time
from typing import Any

import pytest

from local.service import LocalService
from shared.domain.messages import digest
from tests.support.api_user import ApiUser
from tests.support.platform_cases import PLATFORMS

pytestmark = pytest.mark.soak


def transcript(count: int) -> list[dict[str, Any]]:
    """Random text that hardly compresses, 2 KB per message."""
    chance = random.Random(count)  # noqa: S311  # the same text in every run
    return [
        {"role": ("user", "assistant")[number % 2], "content": chance.randbytes(1000).hex()} for number in range(count)
    ]


def timed_handoff(user: ApiUser, platform: str, messages: list[dict[str, Any]]) -> float:
    """Upload and hand off; returns the seconds from the request to the end."""
    session_id = user.create_session(count=0)
    for start in range(0, len(messages), 400):
        body = {"epoch": 0, "after": start, "messages": messages[start : start + 400]}
        user.http.post(f"/sessions/{session_id}/messages", json=body).raise_for_status()
    began = time.monotonic()
    done = user.hand_off(session_id, platform)
    assert (done["state"], done["error"]) == ("completed", None)
    assert done["receipt"]["message_count"] == len(messages)
    assert done["receipt"]["digest"] == digest(messages)
    return time.monotonic() - began


@pytest.mark.timeout(600)
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_time_grows_in_proportion_to_the_messages(platform: str) -> None:
    with LocalService(mode="in_process") as service:
        user = ApiUser(service)
        timed_handoff(user, platform, transcript(10))

        small = timed_handoff(user, platform, transcript(1_000))
        large = timed_handoff(user, platform, transcript(10_000))

    assert large < 20 * small
