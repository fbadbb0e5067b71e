"""Platforms and agents of other distributions, installed beside the service."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DECLARED = """
[handoff.platforms]
toy = tests.contracts.platform.toy:SPEC
[handoff.chats]
toy = tests.contracts.platform.toy:CHAT
[handoff.agents]
parrot = handoff_parrot:SPEC
"""
PARROT = """
from shared.agents.spec import AgentSpec

SPEC = AgentSpec("parrot", "handoff_parrot:Parrot", "repeats what was said")


class Parrot:
    def __init__(self, settings, secrets, clock):
        self.model = settings.agent_model
"""
LISTS = """
from shared.platforms import PLATFORMS
from shared.agents import AGENTS
from local.chats import CHATS
show([[entry.name for entry in entries] for entries in (PLATFORMS, AGENTS, CHATS)])
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A directory with one distribution that adds all three."""
    installed = tmp_path / "handoff_parrot-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: handoff-parrot\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(DECLARED)
    (tmp_path / "handoff_parrot.py").write_text(PARROT)
    return tmp_path


def run(site: Path | None, code: str) -> Any:
    """What the code passes to `show`, in a process with this directory on its path."""
    path = os.pathsep.join(str(folder) for folder in (site, ROOT) if folder)
    given = f"import json, sys\ndef show(value): print(json.dumps(value))\n{code}"
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", given], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_they_follow_the_built_in_ones(site: Path) -> None:
    before, after = run(None, LISTS), run(site, LISTS)

    assert after == [[*names, added] for names, added in zip(before, ("toy", "parrot", "toy"), strict=True)]


def test_a_distribution_may_be_imported_before_the_service(site: Path) -> None:
    code = f"import handoff_parrot, tests.contracts.platform.toy\n{LISTS}"

    assert run(site, code) == run(site, LISTS)


def test_an_added_platform_can_be_used(site: Path) -> None:
    known, is_set, adapter = run(
        site,
        """
from local.chats.real import RealBots
from shared.platforms.registry import PlatformRegistry
from shared.settings import Settings
from tests.support.secrets import FakeSecrets
registry = PlatformRegistry(Settings("h", "s", "q"), FakeSecrets({"toy/bot_token": "t", "toy/webhook_secret": "s"}))
bots = RealBots.from_environment({"TOY_BOT_TOKEN": "t", "TOY_WEBHOOK_SECRET": "s"})
show([registry.known()["toy"], bots.platforms, type(registry.get("toy")).__name__])
""",
    )

    assert (known, is_set, adapter) == (True, ["toy"], "Toy")


def test_an_added_agent_can_be_chosen(site: Path) -> None:
    faults, model, summary = run(
        site,
        """
from local.options import faults
from shared.agents.registry import build_agent, summary
from shared.settings import Settings
settings = Settings("h", "s", "q", agent="parrot", agent_model="grey")
show([list(faults({"HANDOFF_AGENT": "parrot"})), build_agent(settings, None, None).model, summary(settings)])
""",
    )

    assert (faults, model, summary) == ([], "grey", "parrot with grey: repeats what was said.")


def test_a_name_cannot_be_taken_twice(site: Path) -> None:
    code = """
from shared.entry_points import with_added
from tests.contracts.platform.toy import SPEC
try:
    with_added([SPEC], "handoff.platforms", name=lambda spec: spec.name)
except ValueError as error:
    show(str(error))
"""

    assert run(site, code) == "The entry point toy in handoff.platforms adds toy, which there is already"
