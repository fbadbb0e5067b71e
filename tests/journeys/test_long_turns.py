"""A turn that takes several times its lease: it stays alone, in order, and the terminal goes on waiting for it."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.paths import ROOT
from local.service import LocalService
from tests.support.desk import Desk, until

SECONDS = 5


@pytest.fixture(scope="module")
def slow() -> Iterator[LocalService]:
    parameters = {"RehearsalSeconds": str(SECONDS), "TurnLeaseSeconds": "2"}
    with LocalService(mode="in_process", parameters=parameters) as running:
        yield running


def test_a_turn_of_more_than_twice_its_lease_confirms_once_and_keeps_the_order(slow: LocalService) -> None:
    desk = Desk(slow)
    title = f"long {uuid.uuid4().hex[:6]}"
    session_id = desk.session(title=title)
    handoff = desk.request(session_id).json()
    until(lambda: desk.threads(title))
    (thread,) = desk.threads(title)
    until(lambda: desk.see(session_id)["turn_running"])

    slow.simulator.say("telegram", thread["chat"], "first", thread=thread["id"])
    slow.simulator.say("telegram", thread["chat"], "second", thread=thread["id"])

    assert desk.wait(handoff["id"])["error"] is None
    until(lambda: desk.see(session_id)["message_count"] >= 9, patience=40)
    said = [m["content"] for m in desk.transcript(session_id) if m["content"] in ("first", "second")]
    assert said == ["first", "second"]
    (thread,) = desk.threads(title)
    assert sum("Confirmed" in message["text"] for message in thread["messages"]) == 1
    session = desk.see(session_id)
    assert (session["suspended"], session["active_handoff"]) == (False, None)


def test_the_cli_waits_for_an_agent_that_takes_its_time(slow: LocalService, tmp_path: Path) -> None:
    sent = subprocess.run(
        [sys.executable, "-m", "handoff_cli", "send", "slack", "--transcript", str(ROOT / "examples/session.jsonl")],
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
