"""A user of an agent with Handoff's hooks: types prompts, and sees what the hook answers."""

import json
import shutil
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.support.waiting import eventually

SAMPLE = Path(__file__).parents[1] / "samples" / "claude_code.jsonl"
CODEX_SAMPLE = SAMPLE.with_name("codex.jsonl")


@dataclass
class Agent:
    """One session of an agent on this machine. `variables` are added to the hook's environment."""

    run: Run
    directory: Path
    name: str = "claude-code"
    native_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    transcript: Path | None = None
    variables: dict[str, str] = field(default_factory=dict)

    def prompt(self, text: str) -> dict[str, Any]:
        """What the hook answers to these words; empty if they go to the model as they are."""
        name = "BeforeAgent" if self.name == "gemini" else "UserPromptSubmit"
        return self.hook(hook_event_name=name, prompt=text)

    def move(self, words: str = "") -> str:
        """Hand the session over to Telegram."""
        return self.types(f"/handoff telegram {words}")

    def types(self, text: str) -> str:
        """Type a command that moves the session; returns what is shown in the end."""
        return self.follow(refusal(self.prompt(text)))

    def follow(self, shown: str) -> str:
        """The same, or how the move ended: on a busy machine it takes longer than the hook waits."""

        def ended() -> str | None:
            text = shown if "on its way" not in shown else refusal(self.prompt("/handoff status"))
            return text if "on its way" not in text else None

        return eventually(ended, within=60)

    def start(self, source: str) -> dict[str, Any]:
        """What the hook answers when the session begins or is loaded."""
        return self.hook(hook_event_name="SessionStart", source=source)

    def hook(self, **event: Any) -> dict[str, Any]:
        event = {"session_id": self.native_id, "cwd": str(self.directory), **event}
        if self.transcript:
            event["transcript_path"] = str(self.transcript)
        done = self.run("hook", self.name, stdin=json.dumps(event), **self.variables)
        assert (done.returncode, done.stderr) == (0, "")
        answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
        return answer

    @property
    def notes(self) -> list[Path]:
        """The files that remember handed-over sessions."""
        return list((self.directory / "home").rglob("away/*/*.json"))


def refusal(answer: dict[str, Any]) -> str:
    """The text that is shown instead of sending the words."""
    assert answer["decision"] == "block", answer
    return str(answer["reason"])


@pytest.fixture
def agent(run: Run, tmp_path: Path) -> Agent:
    transcript = tmp_path / "session.jsonl"
    shutil.copy(SAMPLE, transcript)
    return Agent(run, tmp_path, transcript=transcript)


@pytest.fixture
def agent_alone(run_alone: Run, tmp_path: Path) -> Agent:
    """The same without a service."""
    transcript = tmp_path / "session.jsonl"
    shutil.copy(SAMPLE, transcript)
    return Agent(run_alone, tmp_path, transcript=transcript)
