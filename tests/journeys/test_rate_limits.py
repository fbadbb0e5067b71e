"""A rate limit of the platform delays a handoff and does not fail it."""

import time
import uuid

import pytest

from tests.support.api_user import ApiUser
from tests.support.platform_cases import CASES, PLATFORMS

SECONDS = 2


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_short_rate_limit_is_waited_for(user: ApiUser, platform: str) -> None:
    title = f"limit {uuid.uuid4().hex[:6]}"
    session_id = user.create_session(title=title)
    user.service.simulator.arm(platform, "rate_limit", 1, seconds=SECONDS, on=CASES[platform].opens_threads_with)

    began = time.monotonic()
    done = user.hand_off(session_id, platform)

    assert (done["state"], done["error"], done["attempt"]) == ("completed", None, 0)
    assert time.monotonic() - began >= SECONDS
    assert len(user.threads(title, platform)) == 1
