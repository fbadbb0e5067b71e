"""The fake ACP agent as an agent of the runner: how it is started, and what it noted."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from handoff_cli.runner.agents import CLAUDE_CODE
from handoff_cli.runner.agents.spec import AgentSpec, Installed

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, str(ROOT / "tests" / "support" / "fake_acp_agent.py"))
NATIVE_ID = "5f0c6a8e-0000-4000-8000-000000000001"


@dataclass(frozen=True)
class FakeAgents:
    """Starts and reads agents in one home directory."""

    home: Path

    @property
    def directory(self) -> Path:
        path = self.home / "project"
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def log(self) -> Path:
        return self.home / "agent.log"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": f"{ROOT}:{ROOT / 'cli'}",
            "FAKE_ACP_LOG": str(self.log),
        }

    def agent(self, spec: AgentSpec = CLAUDE_CODE, **environ: str) -> Installed:
        return Installed(spec, COMMAND, {**self.environ, "HANDOFF_HOST": "1", **environ}, "2.1.325")

    def noted(self, what: str) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [text for kind, text in map(json.loads, lines) if kind == what]

    def has_noted(self, what: str) -> Callable[[], list[str]]:
        return lambda: self.noted(what)
