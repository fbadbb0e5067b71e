"""The real Claude Code, Codex and opencode from npm, in a home directory of a test, on the fake model."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.acp_client import AcpClient
from tests.support.tui import COLUMNS, ROWS, Tui

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "tests" / "real_agents" / "package.json"
INSTALLED = ROOT / ".build" / "agents"
PROGRAMS = INSTALLED / "node_modules" / ".bin"
NAMES = ("claude-code", "codex")
SECONDS = 100
# Options with which a session in the terminal decides by itself what is allowed.
AUTOMATIC = {
    "claude-code": ("--permission-mode", "auto"),
    "codex": ("--sandbox", "danger-full-access"),
    "opencode": ("--auto",),
}

_TERMINALS = {"claude-code": "claude", "codex": "codex"}
_COMMANDS = {
    "claude-code": (str(PROGRAMS / "node"), str(PROGRAMS / "claude-agent-acp")),
    "codex": (str(PROGRAMS / "node"), str(PROGRAMS / "codex-acp")),
    "opencode": (str(PROGRAMS / "opencode"), "acp"),
}
# The fake model has no secrets: any key will do. The rest keeps the programs from calling their makers.
_VARIABLES = {
    "ANTHROPIC_API_KEY": "not-a-key",
    "FAKE_MODEL_KEY": "not-a-key",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "IS_SANDBOX": "1",  # Claude Code refuses some modes to root, as whom tests run in a container
}
_CODEX_CONFIG = """\
model = "fake-1"
model_provider = "fake"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_MODEL_KEY"
wire_api = "responses"

[projects."{project}"]
trust_level = "trusted"
"""


def why_absent() -> str | None:
    """Why the agents cannot be run here; None if the pinned versions are installed."""
    installed = INSTALLED / "installed.json"
    if installed.is_file() and installed.read_bytes() == PACKAGES.read_bytes():
        return None
    return "the real agents are not installed (tests/real_agents/install)"


@dataclass(frozen=True)
class Home:
    """A home directory whose agents know only the fake model, and a project in it."""

    path: Path
    model_url: str
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.path / "project"

    @property
    def environ(self) -> dict[str, str]:
        """The environment of everything that runs here. Nothing of the developer's but the system's programs."""
        return {
            **_VARIABLES,
            "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.path),
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
            "ANTHROPIC_BASE_URL": self.model_url,
            "CLAUDE_CODE_EXECUTABLE": str(PROGRAMS / "claude"),
            "CODEX_PATH": str(PROGRAMS / "codex"),
            **self.more,
        }

    def end_daemons(self) -> None:
        """Kill what agents have started from here and left running: Codex keeps a daemon for its terminals."""
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (entry / "exe").resolve().is_relative_to(self.path):
                    os.kill(int(entry.name), signal.SIGKILL)

    def prepare(self) -> None:
        """Write what the programs would ask a new user for."""
        self.project.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(self.project)], env=self.environ, check=True)
        folder = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [_VARIABLES["ANTHROPIC_API_KEY"]], "rejected": []},
            "projects": {str(self.project): folder},
        }
        (self.path / ".claude.json").write_text(json.dumps(known))
        (self.path / ".codex").mkdir()
        config = _CODEX_CONFIG.format(url=self.model_url, project=self.project)
        (self.path / ".codex" / "config.toml").write_text(config)
        self.configure_opencode()

    def configure_opencode(self, **more: Any) -> None:
        """Its configuration of the user: the fake model, and `more`."""
        options = {"baseURL": f"{self.model_url}/v1", "apiKey": _VARIABLES["FAKE_MODEL_KEY"]}
        models = {"fake-1": {"name": "fake-1", "tool_call": True}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": options, "models": models}
        config = {"provider": {"fake": provider}, "model": "fake/fake-1", "small_model": "fake/fake-1", **more}
        folder = self.path / ".config" / "opencode"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "opencode.json").write_text(json.dumps(config))

    def run(self, *command: str) -> str:
        """What a program in the project prints. Raises if it fails."""
        done = subprocess.run(
            command, cwd=self.project, env=self.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
        return done.stdout

    def tui(self, agent: str, *options: str, size: tuple[int, int] = (COLUMNS, ROWS)) -> Tui:
        """The agent's own screen, in the project; its size in columns and rows."""
        program = PROGRAMS / _TERMINALS[agent]
        return Tui([str(program), *options], cwd=self.project, env=self.environ, size=size)

    def acp(self, agent: str, *, permit: str = "reject_once", **more: str) -> AcpClient:
        """The agent, behind its adapter if it has one, in the project."""
        return AcpClient(_COMMANDS[agent], env={**self.environ, **more}, cwd=self.project, permit=permit)


@dataclass(frozen=True)
class Spoken:
    """What an agent answered in the terminal, and the id of its session."""

    native_id: str
    reply: str


def begin_in_terminal(home: Home, agent: str, words: str, *options: str) -> Spoken:
    """Begin a session with these words, as a person does in a terminal."""
    return _SPEAK[agent](home, None, words, options)


def resume_in_terminal(home: Home, agent: str, native_id: str, words: str, *options: str) -> Spoken:
    """Go on with a session in the terminal."""
    return _SPEAK[agent](home, native_id, words, options)


def _claude(home: Home, native_id: str | None, words: str, options: tuple[str, ...]) -> Spoken:
    resume = ["--resume", native_id] if native_id else []
    answer = json.loads(home.run("claude", "-p", "--output-format", "json", *resume, *options, words))
    result = answer if isinstance(answer, dict) else answer[-1]
    return Spoken(result["session_id"], result["result"])


def _codex(home: Home, native_id: str | None, words: str, options: tuple[str, ...]) -> Spoken:
    resume = ["resume", native_id] if native_id else []
    events: list[dict[str, Any]] = [
        json.loads(line)
        for line in home.run("codex", "exec", *options, *resume, "--json", words).splitlines()
        if line.startswith("{")
    ]
    thread = next(event["thread_id"] for event in events if event["type"] == "thread.started")
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    return Spoken(thread, "\n".join(item["text"] for item in items if item["type"] == "agent_message"))


def _opencode(home: Home, native_id: str | None, words: str, options: tuple[str, ...]) -> Spoken:
    resume = ["-s", native_id] if native_id else []
    lines = home.run("opencode", "run", *options, *resume, "--format", "json", words).splitlines()
    events: list[dict[str, Any]] = [json.loads(line) for line in lines if line.startswith("{")]
    texts = [event["part"]["text"] for event in events if event["type"] == "text"]
    return Spoken(events[0]["sessionID"], "\n".join(texts))


_SPEAK = {"claude-code": _claude, "codex": _codex, "opencode": _opencode}
