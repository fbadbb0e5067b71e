"""`handoff up` as a program with the runner that it starts, and the fake ACP agent in place of Claude Code."""

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from handoff_cli.readers.claude_code.find import folder_name
from handoff_cli.runner.machine.files import state_directory
from local.chats.simulator import Simulator
from tests.support.api_user import ApiUser
from tests.support.fake_agents import COMMAND, FakeAgents
from tests.support.server_process import ServerProcess
from tests.support.waiting import eventually

PLATFORM = "slack"
"""It can be asked what has arrived, so a message is never repeated there."""
HANDOFF = (sys.executable, "-m", "handoff_cli")


class _WithRunner(ServerProcess):
    def command(self) -> list[str]:
        return [word for word in super().command() if word != "--no-runner"]


class OwnMachine:
    """A home directory with an agent, and the service there."""

    def __init__(self, home: Path, platforms: Simulator, **more: str) -> None:
        self.home = home
        self.agents = FakeAgents(home)
        self._give_agent()
        variables = {**self.agents.environ, "PATH": f"{home / 'bin'}:/usr/bin:/bin", **more}
        self.server = _WithRunner(home / "data", platforms, names=(PLATFORM,), **variables)

    def _give_agent(self) -> None:
        """A program of the name that is looked for, and the fake agent as what the runner starts for it."""
        claude = self.home / "bin" / "claude"
        claude.parent.mkdir(parents=True)
        claude.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
        claude.chmod(0o755)
        config = self.home / ".config" / "handoff"
        config.mkdir(parents=True)
        (config / "runner.toml").write_text(f"agents.claude-code = {json.dumps(COMMAND)}\n")

    @property
    def user(self) -> ApiUser:
        return self.server.user()

    @property
    def runner_lock(self) -> Path:
        return state_directory(self.server.environment) / "lock"

    def runners(self) -> list[int]:
        """The processes that hold the lock of the machine's runner."""
        return [pid for pid in _processes() if _has_open(pid, self.runner_lock)]

    def live_agents(self) -> list[int]:
        """The agents of this machine that run."""
        return [pid for pid in _processes() if self._is_agent(pid)]

    def _is_agent(self, pid: int) -> bool:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False
        return COMMAND[1].encode() in command and f"HOME={self.home}".encode() in environ

    def wait_for_runner(self) -> None:
        """Until the service knows the runner, and it is on."""
        eventually(
            lambda: [each for each in self.user.http.get("/runners").json()["runners"] if each["online"]],
            within=120,
            show=self.server.output.read_text,
        )

    def begin(self, words: str = "my number is 4711") -> str:
        """A session of the agent in the terminal; returns its own id."""
        native_id = str(uuid.uuid4())
        path = self.home / ".claude" / "projects" / folder_name(self.agents.directory) / f"{native_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        said = [("user", words), ("assistant", [{"type": "text", "text": f"You said: {words}"}])]
        last: str | None = None
        with path.open("w") as file:
            for role, content in said:
                record = {"type": role, "uuid": uuid.uuid4().hex, "parentUuid": last, "sessionId": native_id}
                file.write(json.dumps({**record, "message": {"role": role, "content": content}}) + "\n")
                last = record["uuid"]
        return native_id

    def handoff(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """The command in the project's directory."""
        return subprocess.run(
            [*HANDOFF, *arguments],
            cwd=self.agents.directory,
            env={**self.server.environment, "HANDOFF_URL": self.server.url, "HANDOFF_TOKEN": self.server.tokens["owner"]},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )  # fmt: skip

    def hand_over(self, native_id: str | None = None) -> "OwnThread":
        """Hand a session of the agent over to a thread; its own agent has confirmed it."""
        return OwnThread(self, native_id or self.begin())

    def kill(self, pid: int) -> None:
        """SIGKILL to a runner or an agent that may be gone."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def stop_all(self) -> None:
        """Nothing of this machine is left running."""
        if self.server.process:
            self.server.kill()
        for pid in [*self.runners(), *self.live_agents()]:
            self.kill(pid)


class OwnThread:
    """A thread behind which the agent of the machine stands."""

    def __init__(self, machine: OwnMachine, native_id: str) -> None:
        self.machine, self.native_id, self.user = machine, native_id, machine.user
        self.title = f"own {uuid.uuid4().hex[:8]}"
        done = machine.handoff("send", PLATFORM, "--from", f"claude-code:{native_id}", "--title", self.title, "--json")
        assert done.returncode == 0, (done.stdout, done.stderr, machine.server.output.read_text())
        self.handoff: dict[str, Any] = json.loads(done.stdout)
        self.session_id = str(self.handoff["session_id"])
        (thread,) = self.user.threads(self.title, PLATFORM)
        self.chat, self.id = str(thread["chat"]), str(thread["id"])

    def say(self, text: str) -> None:
        self.user.service.simulator.say(PLATFORM, self.chat, text, thread=self.id)

    def texts(self) -> list[str]:
        """What the bot posted there."""
        (thread,) = self.user.threads(self.title, PLATFORM)
        return [message["text"] for message in thread["messages"] if message["from"] == "bot"]

    def shows(self, text: str, *, within: float = 60.0) -> str:
        """The first message of the bot with this text; waits for it."""
        return eventually(
            lambda: [each for each in self.texts() if text in each],
            within=within,
            show=lambda: (self.texts(), self.machine.server.output.read_text()),
        )[0]


@contextmanager
def own_machine(home: Path, **more: str) -> Iterator[OwnMachine]:
    """The machine with its chats; the service is not started yet."""
    home.mkdir(parents=True, exist_ok=True)
    with Simulator() as platforms:
        machine = OwnMachine(home, platforms, **more)
        try:
            yield machine
        finally:
            machine.stop_all()


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]


def _has_open(pid: int, path: Path) -> bool:
    try:
        return any(handle.resolve() == path for handle in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
