"""`handoff run` as a program that tests start, kill and start again."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.fake_agents import COMMAND, FakeAgents


class RunnerProcess:
    """The program in one home directory, with the fake agent in place of Claude Code."""

    def __init__(self, agents: FakeAgents, url: str, token: str, **environ: str) -> None:
        self.output = agents.home / "runner.output"
        self._agents = agents
        self._environ = {**agents.environ, "HANDOFF_URL": url, "HANDOFF_TOKEN": token, **environ}
        self._started: list[subprocess.Popen[bytes]] = []
        config = agents.home / ".config" / "handoff"
        config.mkdir(parents=True, exist_ok=True)
        (config / "runner.toml").write_text(f"agents.claude-code = {json.dumps(COMMAND)}\n")

    def start(self, *options: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "handoff_cli", "run", "--agent", "claude-code", "--name", "laptop", *options]
        with self.output.open("ab") as stream:
            process = subprocess.Popen(
                command,
                cwd=self._agents.home,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
        self._started.append(process)
        return process

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        return self._started[-1]

    def kill(self) -> None:
        """SIGKILL; nothing of the process is left when this returns."""
        self.process.kill()
        self.process.wait(30)

    def interrupt(self) -> int:
        """Ctrl-C; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)

    def text(self) -> str:
        return self.output.read_text() if self.output.exists() else ""

    def stop_all(self) -> None:
        for process in self._started:
            process.kill()
            process.wait(30)


def ended(pid: str) -> bool:
    """Is the process gone, or a zombie that nothing reaps?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
