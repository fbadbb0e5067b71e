"""`handoff setup PLATFORM --stack NAME` as a command: with which service it pairs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.chats.simulator import Simulator
from tests.local.operate.deploy.conftest import Operator
from tests.support.emulated_aws import EmulatedAws

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def platforms() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


def test_a_bot_of_a_stack_is_not_paired_elsewhere(
    operator: Operator, aws: EmulatedAws, platforms: Simulator, tmp_path: Path
) -> None:
    operator.deploy()
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "cli"),
        "TELEGRAM_API_URL": platforms.api_url("telegram"),
        "HANDOFF_URL": "http://127.0.0.1:9",
        **aws.environment(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-m", "handoff_cli", "setup", "telegram", "--stack", "handoff"],
        env=environ,
        cwd=tmp_path,
        input=f"{platforms.secrets['telegram/bot_token']}\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Your bot is" in done.stdout
    assert "This CLI uses http://127.0.0.1:9" in done.stdout
    assert "handoff link telegram --url https://handoff.example.org" in done.stdout
