"""Ten thousand messages, twenty megabytes: stored, handed over and proven whole, in time in proportion to their number."""

import random
import time
from typing import Any

import pytest

from local.service import LocalService
from shared.domain.messages import digest
from tests.support.desk import Desk

pytestmark = pytest.mark.soak


def transcript(count: int) -> list[dict[str, Any]]:
    """Words that compress about as badly as they can: 2 KB a message."""
    dice = random.Random(count)  # noqa: S311  # the same words in every run
    return [
        {"role": ("user", "assistant")[number % 2], "content": dice.randbytes(1000).hex()} for number in range(count)
    ]


def hand_over(desk: Desk, platform: str, messages: list[dict[str, Any]]) -> float:
    """Upload and hand over; returns the seconds from the request to the end."""
    session_id = desk.session(count=0)
    for start in range(0, len(messages), 400):
        body = {"epoch": 0, "after": start, "messages": messages[start : start + 400]}
        desk.http.post(f"/sessions/{session_id}/messages", json=body).raise_for_status()
    began = time.monotonic()
    done = desk.hand_over(session_id, platform)
    assert (done["state"], done["error"]) == ("completed", None)
    assert done["receipt"]["message_count"] == len(messages)
    assert done["receipt"]["digest"] == digest(messages)
    return time.monotonic() - began


@pytest.mark.timeout(600)
@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
def test_ten_times_the_messages_take_no_more_than_about_ten_times_as_long(platform: str) -> None:
    with LocalService(mode="in_process") as service:
        desk = Desk(service)
        hand_over(desk, platform, transcript(10))

        small = hand_over(desk, platform, transcript(1_000))
        large = hand_over(desk, platform, transcript(10_000))

    assert large < 20 * small
