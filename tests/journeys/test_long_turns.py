"""Turns that take several times their lease: one at a time, in order, and the terminal waits for them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.paths import ROOT
from local.service import LocalService
from tests.support.api_user import ApiUser
from tests.support.platform_cases import PLATFORMS
from tests.support.waiting import eventually

SECONDS = 5


@pytest.fixture(scope="module")
def slow() -> Iterator[LocalService]:
    parameters = {"RehearsalSeconds": str(SECONDS), "TurnLeaseSeconds": "2"}
    with LocalService(mode="in_process", parameters=parameters) as running:
        yield running


def test_a_turn_longer_than_its_lease_runs_once_in_order(slow: LocalService) -> None:
    user, title = ApiUser(slow), "longer than the lease"
    session_id = user.create_session(title=title)
    handoff = user.request_handoff(session_id).json()
    (thread,) = eventually(lambda: user.threads(title))
    eventually(lambda: user.session(session_id)["turn_running"])

    for text in ("first", "second"):
        slow.simulator.say(handoff["platform"], thread["chat"], text, thread=thread["id"])

    assert user.wait_for_handoff(handoff["id"])["error"] is None
    eventually(lambda: user.session(session_id)["message_count"] >= 9, within=40)
    assert [text for text in user.contents(session_id) if text in ("first", "second")] == ["first", "second"]
    (thread,) = user.threads(title)
    assert sum("Confirmed" in message["text"] for message in thread["messages"]) == 1
    session = user.session(session_id)
    assert (session["suspended"], session["active_handoff"]) == (False, None)


def test_the_cli_waits_for_a_slow_agent(slow: LocalService, tmp_path: Path) -> None:
    transcript = str(ROOT / "examples/session.jsonl")
    sent = subprocess.run(
        [sys.executable, "-m", "handoff_cli", "send", PLATFORMS[1], "--transcript", transcript],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT / "cli"),
            "HANDOFF_URL": slow.url,
            "HANDOFF_TOKEN": slow.tokens["owner"],
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert sent.returncode == 0, sent.stdout + sent.stderr
    assert "All 40 messages arrived" in sent.stdout
