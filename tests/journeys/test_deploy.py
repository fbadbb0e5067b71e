"""From an empty home directory to a finished handoff in a deployment: the CLI, with AWS and Telegram on loopback."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handoff_cli.config.file import config_path, read_config
from local.chats import CHATS
from local.chats.simulator import Simulator
from tests.local.operate.deploy.conftest import zip_of
from tests.support.emulated_aws import EmulatedAws
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def telegram() -> Iterator[Simulator]:
    simulator = Simulator([chat for chat in CHATS if chat.name == "telegram"])
    simulator.start(0)
    yield simulator
    simulator.stop()


@pytest.fixture
def aws() -> Iterator[EmulatedAws]:
    with EmulatedAws(runs=True) as account:
        yield account


class Terminal:
    """A terminal in an empty home directory, signed in to the account."""

    def __init__(self, aws: EmulatedAws, home: Path) -> None:
        kept = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'cli'}", "PYTHONSAFEPATH": "1"}
        self.environ = {**kept, **aws.environment(home)}
        self.home = home
        self.said = ""

    def handoff(self, *arguments: str, stdin: str = "") -> int:
        done = subprocess.run(
            [sys.executable, "-m", "handoff_cli", *arguments],
            env=self.environ,
            cwd=self.home,
            input=f"{stdin}\n",
            capture_output=True,
            text=True,
            check=False,
        )
        self.said = done.stdout + ("" if "--json" in arguments else done.stderr)
        return done.returncode


def test_three_commands_from_nothing_to_a_handoff(aws: EmulatedAws, telegram: Simulator, tmp_path: Path) -> None:
    """No id is typed: the person sends a code to the bot."""
    home, bundle, transcript = tmp_path / "home", tmp_path / "artefact.zip", tmp_path / "session.json"
    home.mkdir()
    bundle.write_bytes(zip_of("the functions run from the source tree here"))
    transcript.write_text(json.dumps([{"role": "user", "content": "Plan the week"}]))
    urls = {"telegram": {"api": telegram.api_url("telegram"), "link": telegram.link_url("telegram")}}
    terminal = Terminal(aws, home)
    token = telegram.secrets["telegram/bot_token"]

    given = (f"--bundle={bundle}", "--yes", "--secret=telegram/bot_token", f"--set=PlatformUrls={json.dumps(urls)}")
    assert terminal.handoff("deploy", *given, stdin=token) == 0, terminal.said
    assert "✓ stack: handoff: CREATE_COMPLETE" in terminal.said
    assert "✓ token: valid" in terminal.said
    assert "the bot posts to this deployment" in terminal.said
    assert token not in terminal.said
    assert terminal.handoff("link", "telegram", "--json") == 0, terminal.said
    telegram.say("telegram", "7001", f"/link {json.loads(terminal.said)['code']}")
    eventually(lambda: "7001" in (terminal.handoff("homes"), terminal.said)[1], within=60, show=lambda: terminal.said)
    assert terminal.handoff("send", "telegram", f"--transcript={transcript}", "--title=Week") == 0, terminal.said

    threads = [one for chat in telegram.state()["platforms"]["telegram"]["chats"] for one in chat["threads"]]
    assert [one["title"] for one in threads] == ["Handoff — Week"]
    assert {one["from"] for one in threads[0]["messages"]} == {"bot"}


def test_the_token_is_in_one_private_file_only(
    aws: EmulatedAws, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "artefact.zip"
    bundle.write_bytes(zip_of("x"))
    terminal = Terminal(aws, tmp_path)
    assert terminal.handoff("deploy", f"--bundle={bundle}", "--yes", "--json") == 0, terminal.said
    path = config_path(terminal.environ)
    config = read_config(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert config["token"] not in terminal.said
    assert json.loads(terminal.said)["url"] == config["url"]

    assert terminal.handoff("deploy", f"--bundle={bundle}", "--yes") == 0
    assert read_config(path) == config
    assert "Nothing to change" in terminal.said
    assert terminal.handoff("doctor", "--stack=handoff", "--json") in (0, 1)
    checks = {check["name"]: check["ok"] for check in json.loads(terminal.said)["checks"]}
    assert (checks["stack"], checks["version"], checks["users"], checks["token"]) == (True, True, True, True)

    assert terminal.handoff("destroy", "--yes") == 0
    assert read_config(path) == {}
